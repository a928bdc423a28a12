"""Blocks of rows in Arrow columns: every row of a batch at once, and no Python object for a row.

The rows of a block lie one after another in memory, each with its delimiter. A packed record is a view of some of them:
for rows of 100 B that costs 45 ns a row up to here, where a list of rows that are joined again costs 200 ns.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow import ArrowBlock
from asyncsink.arrow.json_rows import payload_column
from asyncsink.arrow.offsets import offsets_of_column
from asyncsink_firehose.delimiter import delimited, overlaps_itself

_ROWS: Final = pa.large_binary()

_COLUMN: Final = "asyncsink_firehose.row"
"""What tells a batch of rows that are ready from one that somebody's own converter has made a block of."""


def rows_of_column(batch: pa.RecordBatch, column: str, delimiter: bytes) -> ArrowBlock[bytes]:
    """The values of a string or binary column, each with the delimiter behind it; strings in valid UTF-8.

    :raises ValueError: a value is null or empty, or holds the delimiter; names column and row
    """
    return _block(payload_column(batch, column), delimiter, f"column {column!r} of ")


def rows_of_payloads(payloads: Any, delimiter: bytes) -> ArrowBlock[bytes]:
    """Payloads in a large_binary column, each with the delimiter behind it.

    :raises ValueError: one is empty, or holds the delimiter; names the row
    """
    return _block(payloads, delimiter, "")


def contiguous_rows(batch: pa.RecordBatch) -> memoryview | None:
    """The rows of a batch out of a block of this module as they lie in memory, one after another; None of others."""
    return _values_of(batch.column(0)) if batch.schema.names == [_COLUMN] else None


def _block(values: Any, delimiter: bytes, where: str) -> ArrowBlock[bytes]:
    if _may_be_refused(values, delimiter):
        rows = [_delimited(value, delimiter, f"{where}row {row}") for row, value in enumerate(values.to_pylist())]
        values = pa.array(rows, _ROWS)
    elif delimiter:
        # The last argument is what stands between the others: here, behind the value and before nothing.
        values = pc.binary_join_element_wise(values, pa.scalar(b"", _ROWS), pa.scalar(delimiter, _ROWS))
    return ArrowBlock.of_column(pa.record_batch([values], names=[_COLUMN]), 0)


def _may_be_refused(values: Any, delimiter: bytes) -> bool:
    if values.null_count or pc.min(pc.binary_length(values)).as_py() == 0:
        return True
    # The whole column is searched at once, which is fifty times as fast as value by value. What is found may lie across
    # the border of two values.
    return bool(delimiter) and (overlaps_itself(delimiter) or delimiter in bytes(_values_of(values)))


def _values_of(column: Any) -> memoryview:
    """The bytes of a binary column without nulls, from its first value to its last, in shared memory."""
    offsets, data = offsets_of_column(column), column.buffers()[2]
    return memoryview(b"") if data is None else memoryview(data)[int(offsets[0]) : int(offsets[-1])]


def _delimited(value: bytes | None, delimiter: bytes, where: str) -> bytes:
    try:
        if value is None:
            raise ValueError("the payload is null, so there is nothing to send; filter such rows out")
        return delimited(value, delimiter)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
