"""The writer of Spark's batch jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from asyncsink.spark.planned import PlannedWriter

if TYPE_CHECKING:
    import pyarrow as pa


class BatchWriter(PlannedWriter, DataSourceArrowWriter):
    """Writes one batch job: each task has delivered its rows, or prepared them, before it returns."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task: deliver its rows."""
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver, once every task has succeeded: commit, log the sum, and keep it in the ledger."""
        self._commit(messages, None)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """The job has failed: give up what was prepared. What was delivered stays; the next job delivers all rows."""
        self._abort(messages)
