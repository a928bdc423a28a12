"""The writer of Spark's micro-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from asyncsink.spark.arrow_writers import StreamArrowWriter
from asyncsink.spark.planned import PlannedWriter

if TYPE_CHECKING:
    import pyarrow as pa


class StreamWriter(PlannedWriter, StreamArrowWriter):
    """Writes one micro-batch at least once: each task has delivered its rows before it returns."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task: deliver its rows."""
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """On the driver, once every task of the micro-batch has succeeded: log the sum, and keep it in the ledger."""
        self._commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave what was delivered: Spark repeats the micro-batch under the same id, after a plain stop too."""
