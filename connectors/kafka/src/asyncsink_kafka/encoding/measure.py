"""The columns of records in the form in which they are written, and what each record will take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from asyncsink_kafka.encoding.varints import (
    LARGE_BINARY,
    Int64s,
    UInt64s,
    binary_array,
    doubled,
    packed,
    widths,
    zigzag,
)
from asyncsink_kafka.memory import POOL
from asyncsink_kafka.records import Records

_NOTHING = pa.scalar(b"", LARGE_BINARY)
_LARGE = (LARGE_BINARY, pa.large_string())

Rows = slice | Int64s
"""Records by their places."""

HEADER_BYTES = 61
"""The bytes of a record batch before its records."""

RECORD_OVERHEAD = 100
"""Bytes; a record without headers takes no more beside its key and value, in memory and in a batch by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A binary column as large_binary without nulls, and its lengths, -1 for those that were null."""

    data: pa.Array
    lengths: Int64s
    nulls: bool

    @property
    def varints(self) -> UInt64s:
        return zigzag(self.lengths) if self.nulls else doubled(self.lengths)

    def pick(self, rows: Rows) -> Column:
        return Column(_picked(self.data, rows), self.lengths[rows], self.nulls)


@dataclass(frozen=True, slots=True, eq=False)
class HeaderColumn:
    """Each record's headers as they are written, behind each other and without their count."""

    data: pa.Array
    counts: UInt64s

    def pick(self, rows: Rows) -> HeaderColumn:
        return HeaderColumn(_picked(self.data, rows), self.counts[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Records that are ready to be written, but for their offset and timestamp deltas.

    :param key: None where all keys are null
    :param headers: None where no record has any
    :param least: the bytes of each record's body without its two deltas
    """

    value: Column
    key: Column | None
    headers: HeaderColumn | None
    least: Int64s

    def pick(self, rows: Rows) -> Measured:
        """These rows, in this order."""
        key = None if self.key is None else self.key.pick(rows)
        headers = None if self.headers is None else self.headers.pick(rows)
        return Measured(self.value.pick(rows), key, headers, self.least[rows])


def measure(records: Records, *, keyless: bool = False) -> Measured:
    """Put the columns into one form and add up their lengths.

    :param keyless: whether a header without a key counts as one with an empty key; no such record can be sent
    :raises ValueError: the key of a header is null
    """
    value = _column(records.value)
    key = None if records.key is None or records.key.null_count == len(records) else _column(records.key)
    headers = None if records.headers is None else _headers(records.headers, keyless)
    least = _bytes(value) + 2  # the attributes and the number of headers
    least += 1 if key is None else _bytes(key)
    if headers is not None:
        least += _lengths(headers.data) + widths(headers.counts) - 1
    return Measured(value, key, headers, least)


def with_length(bodies: Int64s) -> Int64s:
    """What records take whose bodies take so much."""
    return bodies + widths(doubled(bodies))


def sizes_of(records: Records) -> Int64s:
    """What each record would take as the only one of a record batch, whose 61 bytes of header are included.

    This is what the limit on a record counts (`max.request.size` in Java's producer).
    """
    return with_length(measure(records, keyless=True).least + 2) + HEADER_BYTES


def sizes_beyond(records: Records, limit: int) -> Int64s | None:
    """:func:`sizes_of`; None where the longest key and value tell that no record takes more than `limit`.

    To tell takes a fifth of the time, and of most runs that is all.
    """
    if records.headers is None:
        longest = _longest(records.value) + (0 if records.key is None else _longest(records.key))
        if longest + RECORD_OVERHEAD <= limit:
            return None
    return sizes_of(records)


def joined(*columns: pa.Array) -> pa.Array:
    """Row by row the bytes of all the columns, none of which has nulls; large_binary."""
    return pc.binary_join_element_wise(*columns, _NOTHING, memory_pool=POOL)


def _picked(data: pa.Array, rows: Rows) -> pa.Array:
    if isinstance(rows, slice):
        return data[rows]
    return pc.take(data, pa.array(rows), boundscheck=False, memory_pool=POOL)


def offsets_of(array: pa.Array) -> Int64s:
    """Where each value of a binary or string column begins in its data, and where the last one ends."""
    if not len(array):
        return np.zeros(1, np.int64)  # it may have no buffers
    kind = np.int64 if array.type in _LARGE else np.int32
    offsets = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array) + 1]
    return offsets.astype(np.int64, copy=False)


def _column(array: pa.Array) -> Column:
    if not array.null_count:
        return _bare(array, nulls=False)
    null = array.is_null().to_numpy(zero_copy_only=False)
    column = _bare(array, nulls=True)
    if column.lengths[null].any():  # something lies below a null
        column = _bare(array.fill_null(b""), nulls=True)
    column.lengths[null] = -1
    return column


def _bare(array: pa.Array, *, nulls: bool) -> Column:
    """The column without a mask: joining columns that may have nulls takes twice as long."""
    offsets = offsets_of(array)
    data = array.buffers()[2] or pa.py_buffer(b"")
    return Column(binary_array(offsets, data), offsets[1:] - offsets[:-1], nulls)


def _longest(array: pa.Array) -> int:
    """Of a null it may be what lies below it."""
    offsets = offsets_of(array)
    return int((offsets[1:] - offsets[:-1]).max(initial=0))


def _lengths(data: pa.Array) -> Int64s:
    offsets = offsets_of(data)
    return offsets[1:] - offsets[:-1]


def _bytes(column: Column) -> Int64s:
    """What the values take, each with its length before it."""
    lengths: Int64s = np.maximum(column.lengths, 0) if column.nulls else column.lengths
    return lengths + widths(column.varints)


def _headers(lists: pa.Array, keyless: bool) -> HeaderColumn | None:
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64, copy=False)
    headers = lists.flatten()  # without what a null list may hide
    if not len(headers):
        return None
    keys, values = headers.flatten()
    if keys.null_count and keyless:
        keys = keys.fill_null("")
    if keys.null_count:
        raise ValueError(f"{keys.null_count} headers of records have no key; Kafka needs one, the value may be null")
    key, value = _column(keys), _column(values)
    each = joined(packed([key.varints]), key.data, packed([value.varints]), value.data)
    # The headers of one record are neighbours: where the first begins and the last ends is all that it takes.
    ends = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return HeaderColumn(binary_array(offsets_of(each)[ends], each.buffers()[2]), doubled(counts))
