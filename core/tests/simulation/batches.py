"""Record batches of the smallest kind, and a sink whose converter takes them whole."""

from __future__ import annotations

from typing import Any

from asyncsink import ElementConverter, ListBlock, Schema, WriteContext
from asyncsink_testing import AtomicFakeSink, FakeSink, IdentityConverter


class Batch(list[Any]):
    """Elements in a row, with what the writer asks of an Arrow batch."""

    def slice(self, offset: int, length: int) -> Batch:
        return Batch(self[offset : offset + length])

    def to_pylist(self) -> list[Any]:
        return list(self)


class BatchConverter(IdentityConverter):
    """Converts a batch to a block, unless one of its elements is broken."""

    def apply_batch(self, batch: Batch, context: WriteContext) -> ListBlock[Any]:
        entries = [self.apply(element, context) for element in batch]
        keys = [entry.key for entry in entries]
        return ListBlock(entries, [entry.size for entry in entries], keys)


class BatchSink(FakeSink):
    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return BatchConverter()


class AtomicBatchSink(AtomicFakeSink):
    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return BatchConverter()


SINKS: dict[tuple[bool, bool], type[FakeSink]] = {
    (False, False): FakeSink,
    (False, True): BatchSink,
    (True, False): AtomicFakeSink,
    (True, True): AtomicBatchSink,
}
"""By whether requests are atomic, and whether the converter takes batches."""
