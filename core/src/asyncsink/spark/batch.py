"""The writer of Spark's batch jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from asyncsink.spark.commit import log_progress
from asyncsink.spark.planning import Plan

if TYPE_CHECKING:
    import pyarrow as pa


class BatchWriter(DataSourceArrowWriter):
    """Writes one batch job at least once: each task has delivered its rows before it returns."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task: deliver its rows."""
        from asyncsink.spark.task import write_task

        return write_task(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver, once every task has succeeded: log the sum."""
        log_progress(self._plan.connector, None, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Leave what was delivered: the job has failed, and running it again delivers all rows."""
