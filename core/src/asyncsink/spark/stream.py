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
    """Writes one micro-batch: each task has delivered its rows, or prepared them, before it returns."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task: deliver its rows."""
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """On the driver, once every task has succeeded: commit, log the sum, and keep it in the ledger."""
        self._commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Spark repeats the micro-batch under the same id, after a plain stop too: give up what was prepared.

        Spark asks for this as well where a commit has failed after it was decided. Then nothing is given up.
        """
        self._abort(messages)
