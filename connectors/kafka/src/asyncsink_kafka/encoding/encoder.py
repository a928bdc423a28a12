"""Rows as record batches, all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from asyncsink_kafka.encoding.batch import ReadyBatch, finished
from asyncsink_kafka.encoding.codecs import Codec, NoCodec
from asyncsink_kafka.encoding.cutting import Deltas, cut, group
from asyncsink_kafka.encoding.measure import Measured, joined, measure, offsets_of
from asyncsink_kafka.encoding.varints import Int64s, UInt64s, doubled, packed
from asyncsink_kafka.records import Records

_ATTRIBUTES = 0
_NULL_KEY = 1  # a length of -1
_NO_DELTA = 0
_NO_HEADERS = 0


def encode(
    records: Records,
    slots: NDArray[np.int32],
    slot_count: int,
    *,
    now_ms: int,
    max_batch_bytes: int,
    max_batch_count: int,
    codec: Codec,
    transactional: bool = False,
) -> list[ReadyBatch]:
    """Write the records as batches, those of one slot in their order, slot by slot.

    :param slots: where each record goes, from 0 up to `slot_count`; one of -1 is left out
    :param now_ms: the timestamp of those that have none
    :param max_batch_bytes: a batch's, before it is compressed and with its header; a record that is larger alone makes a
        batch of its own
    :raises ValueError: the key of a header is null
    """
    if len(slots) and slots.min() < 0:
        kept = np.flatnonzero(slots >= 0)
        records, slots = records.take(kept), slots[kept]
    if not len(records):
        return []
    grouped = group(slots, slot_count)
    order = grouped.order
    measured = measure(records)
    times = _times(records.timestamp, now_ms, order)
    least = measured.least if order is None else measured.least[order]
    batches = cut(least, times.each, grouped.ends, max_batch_bytes, max_batch_count)
    written = _written(measured, least, batches.deltas, order)
    sequence = records.sequence if order is None else records.sequence[order]
    target = _Target(grouped.ends, codec, transactional)
    return [*_batches(written, batches.bounds, times, sequence, target)]


class _Times(NamedTuple):
    """The timestamps in the order of the slots; None where all of them are `common`."""

    each: Int64s | None
    common: int


class _Target(NamedTuple):
    ends: Int64s
    codec: Codec
    transactional: bool


class _Written(NamedTuple):
    """Finished records, behind each other.

    :param offsets: where each begins in `data`, and where the last one ends
    :param ahead: so many bytes at the beginning of each record are the end of the one before
    """

    offsets: Int64s
    data: pa.Buffer
    ahead: int


def _times(column: pa.Array | None, now_ms: int, order: Int64s | None) -> _Times:
    if column is None or column.null_count == len(column):
        return _Times(None, now_ms)
    each = column.fill_null(now_ms).to_numpy()
    first = int(each[0])
    if (each == first).all():
        return _Times(None, first)
    return _Times(each if order is None else each[order], first)


def _written(measured: Measured, least: Int64s, deltas: Deltas, order: Int64s | None) -> _Written:
    """The records in the order of the slots, made in the order in which they are and then brought into the other.

    So they are copied twice: by joining their parts, and by taking them.
    """

    def as_given(column: UInt64s) -> UInt64s:
        if order is None:
            return column
        given = np.empty_like(column)
        given[order] = column
        return given

    head = [as_given(doubled(least + deltas.sizes())), _ATTRIBUTES]
    head += [_NO_DELTA if deltas.timestamp is None else as_given(deltas.timestamp), as_given(deltas.offset)]
    columns = _columns(head, measured)
    records = joined(*columns)
    if order is not None:
        records = pc.take(records, pa.array(order), boundscheck=False)
    return _Written(offsets_of(records), records.buffers()[2], 0 if measured.headers else 1)


def _columns(head: list[UInt64s | int], measured: Measured) -> list[pa.Array]:
    """What the records are joined from, each column a cost: neighbours that are numbers make up one."""
    value, key, headers = measured.value, measured.key, measured.headers
    count = len(value.data)
    if headers is None:
        # The byte that says so ends the record. Written before the next one it needs no column.
        head = [_NO_HEADERS, *head]
    if key is None:
        columns = [packed([*head, _NULL_KEY, value.varints], count), value.data]
    else:
        columns = [packed([*head, key.varints], count), key.data, packed([value.varints], count), value.data]
    return columns if headers is None else [*columns, packed([headers.counts], count), headers.data]


def _batches(
    written: _Written, bounds: Int64s, times: _Times, sequence: Int64s, target: _Target
) -> Iterator[ReadyBatch]:
    starts = bounds[:-1]
    slots = (np.searchsorted(target.ends, starts, "right") - 1).tolist()
    common = [times.common] * len(starts)
    firsts = common if times.each is None else times.each[starts].tolist()
    latest = common if times.each is None else np.maximum.reduceat(times.each, starts).tolist()
    places = written.offsets[bounds].tolist()
    rows = bounds.tolist()
    tail = bytes([_NO_HEADERS]) if written.ahead else b""
    plain = NoCodec()
    with memoryview(written.data) as data:
        for number, slot in enumerate(slots):
            with data[places[number] + written.ahead : places[number + 1]] as records:
                yield finished(
                    records,
                    tail,
                    slot=slot,
                    sequence=sequence[rows[number] : rows[number + 1]],
                    base_timestamp=firsts[number],
                    max_timestamp=latest[number],
                    codec=target.codec,
                    plain=plain,
                    transactional=target.transactional,
                )
