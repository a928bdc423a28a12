"""The writer of Spark's micro-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from asyncsink.spark.commit import log_progress
from asyncsink.spark.planning import Plan

if TYPE_CHECKING:
    import pyarrow as pa


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes one micro-batch at least once: each task has delivered its rows before it returns."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task: deliver its rows."""
        from asyncsink.spark.task import write_task

        return write_task(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """On the driver, once every task of the micro-batch has succeeded: log the sum."""
        log_progress(self._plan.connector, batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave what was delivered: Spark repeats the micro-batch under the same id, after a plain stop too."""
