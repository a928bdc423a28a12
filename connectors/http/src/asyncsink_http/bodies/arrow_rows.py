"""Blocks of payloads in Arrow columns: every row of a batch at once, and no Python object for a row.

The payloads of a block lie one after another in memory, each with the separator behind it, so that what stands between
prefix and suffix of a body is one view of them: 7 us for 500 rows of 220 B.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow import ArrowBlock
from asyncsink.arrow.block import ValueBytes
from asyncsink.arrow.offsets import offsets_of_column
from asyncsink_http.entries.entry import HttpEntry, Row
from asyncsink_http.entries.target import Target

_BINARY: Final = pa.large_binary()

_PAYLOAD, _TARGET = "asyncsink_http.payload", "asyncsink_http.target"
"""What tells a batch of payloads that are ready from one that somebody's own converter has made a block of."""

_BLANKS: Final = np.frombuffer(b" \t\n\r\x0b\x0c", np.uint8)


def may_be_refused(payloads: pa.Array, *, one_line: bool) -> bool:
    """Whether one of the payloads may be empty or blank, or hold a line break where it has to be one line.

    The whole column is looked at at once, which is twenty times as fast as payload by payload. JSON that was made of
    rows never has any of these.
    """
    if len(payloads) == 0:
        return False
    offsets, values = _offsets_and_values(payloads)
    starts = offsets[:-1] - offsets[0]
    if (starts == offsets[1:] - offsets[0]).any():
        return True
    if np.isin(np.frombuffer(values, np.uint8)[starts], _BLANKS).any():
        return True
    return one_line and holds(payloads, b"\n")


def holds(payloads: pa.Array, text: bytes) -> bool:
    """Whether the text is in one of the payloads, or lies across the border of two."""
    return text in bytes(_offsets_and_values(payloads)[1])


def rows_of_payloads(
    payloads: pa.Array, separator: bytes, overhead: int, targets: tuple[Sequence[Target], Sequence[int]] | None
) -> ArrowBlock[HttpEntry]:
    """A block of payloads without nulls, each with the separator behind it in memory.

    :param overhead: bytes that each counts beside its own
    :param targets: the distinct ones, and for each row the index of its own; None where all go to the options' one
    """
    if separator:
        # The last argument is what stands between the others: here, behind the payload and before nothing.
        payloads = pc.binary_join_element_wise(payloads, pa.scalar(b"", _BINARY), pa.scalar(separator, _BINARY))
    sizes = np.diff(offsets_of_column(payloads)) + (overhead - len(separator))
    if targets is None:
        return ArrowBlock(pa.record_batch([payloads], names=[_PAYLOAD]), PayloadOfRow(len(separator)), sizes)
    distinct, indices = targets[0], np.asarray(targets[1])
    # Each row has its own, and no dictionary: joining blocks would have to unite their dictionaries.
    column = pa.array([each.packed() for each in distinct], pa.binary()).take(pa.array(indices))
    batch = pa.record_batch([payloads, column], names=[_PAYLOAD, _TARGET])
    return ArrowBlock(batch, TargetedRow(len(separator)), sizes, routes=(distinct, indices))


def joined_rows(batch: pa.RecordBatch, separator: bytes) -> memoryview | None:
    """The payloads of a block of this module with separators between them, as they lie in memory; None of others."""
    if not batch.schema.names or batch.schema.names[0] != _PAYLOAD:
        return None
    _, values = _offsets_and_values(batch.column(0))
    return values[: len(values) - len(separator)]


class PayloadOfRow(ValueBytes):
    """Makes the entry of a row of such a block: its payload, without the separator behind it."""

    __slots__ = ("_behind",)

    def __init__(self, behind: int) -> None:
        super().__init__(0)
        self._behind = behind

    def __call__(self, batch: pa.RecordBatch, index: int) -> Any:
        return self._cut(super().__call__(batch, index))

    def run(self, batch: pa.RecordBatch) -> list[Any]:
        return [self._cut(value) for value in super().run(batch)]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._behind == self._behind

    def __hash__(self) -> int:
        return hash((type(self), self._behind))

    def _cut(self, value: bytes) -> bytes:
        return value[: len(value) - self._behind]


class TargetedRow(PayloadOfRow):
    """Makes the entry of a row that has a target of its own."""

    __slots__ = ()

    def __call__(self, batch: pa.RecordBatch, index: int) -> Any:
        return Row(super().__call__(batch, index), Target.unpacked(batch.column(1)[index].as_py()))

    def run(self, batch: pa.RecordBatch) -> list[Any]:
        packed = batch.column(1).to_pylist()
        targets = {each: Target.unpacked(each) for each in set(packed)}
        return [Row(payload, targets[each]) for payload, each in zip(super().run(batch), packed, strict=True)]


def _offsets_and_values(column: pa.Array) -> tuple[Any, memoryview]:
    """Where the values of a binary column without nulls begin and end, and their bytes, in shared memory."""
    offsets, data = offsets_of_column(column), column.buffers()[2]
    return offsets, memoryview(b"") if data is None else memoryview(data)[int(offsets[0]) : int(offsets[-1])]
