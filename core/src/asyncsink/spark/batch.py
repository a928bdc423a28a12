"""The writer of Spark's batch jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from asyncsink.spark.planned import PlannedWriter

if TYPE_CHECKING:
    import pyarrow as pa


class BatchWriter(PlannedWriter, DataSourceArrowWriter):
    """Writes one batch job at least once: each task has delivered its rows before it returns."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task: deliver its rows."""
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver, once every task has succeeded: log the sum, and keep it in the ledger."""
        self._commit(messages, None)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Leave what was delivered: the job has failed, and running it again delivers all rows."""
