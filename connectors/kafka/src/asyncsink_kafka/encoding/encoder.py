"""Rows as record batches, all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from asyncsink_kafka.encoding.batch import ReadyBatch, finished
from asyncsink_kafka.encoding.codecs import Codec
from asyncsink_kafka.encoding.cutting import Cuts, Deltas, Grouped, cut, group
from asyncsink_kafka.encoding.measure import Measured, joined, measure, offsets_of
from asyncsink_kafka.encoding.varints import Int64s, UInt64s, doubled, packed
from asyncsink_kafka.records import Records

_ATTRIBUTES = 0
_NULL_KEY = 1  # a length of -1
_NO_DELTA = 0
_NO_HEADERS = 0

_PIECE_BYTES = 8 << 20
"""What is written at a time: so much memory is needed beside the batches, two or three times over."""


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
    :param max_batch_bytes: a batch's, before it is compressed and with its header; a record that is larger alone makes
        a batch of its own
    :raises ValueError: the key of a header is null
    """
    if len(slots) and slots.min() < 0:
        kept = np.flatnonzero(slots >= 0)
        records, slots = records.take(kept), slots[kept]
    if not len(records):
        return []
    grouped = group(slots, slot_count)
    measured = measure(records)
    times = _times(records.timestamp, now_ms, grouped.order)
    least = measured.least if grouped.order is None else measured.least[grouped.order]
    cuts = cut(least, times.each, grouped.ends, max_batch_bytes, max_batch_count)
    sequence = records.sequence if grouped.order is None else records.sequence[grouped.order]
    plan = _Plan(grouped, cuts, times, sequence, codec, transactional)
    batches: list[ReadyBatch] = []
    for first, last in _pieces(cuts):
        start, stop = int(cuts.bounds[first]), int(cuts.bounds[last])
        rows = slice(start, stop) if grouped.order is None else grouped.order[start:stop]
        written = _written(measured.pick(rows), cuts.bodies[start:stop], cuts.deltas.slice(start, stop))
        batches += _batches(written, first, last, plan)
    return batches


class _Times(NamedTuple):
    """The timestamps in the order of the slots; None where all of them are `common`."""

    each: Int64s | None
    common: int


class _Plan(NamedTuple):
    """All that the batches take beside the bytes of their records; `sequence` is in the order of the slots."""

    grouped: Grouped
    cuts: Cuts
    times: _Times
    sequence: Int64s
    codec: Codec
    transactional: bool


class _Written(NamedTuple):
    """Finished records, behind each other.

    :param offsets: where each begins in `data`, and where the last one ends
    :param tail: what the last one still lacks; with so many bytes more does each record begin
    """

    offsets: Int64s
    data: pa.Buffer
    tail: bytes


def _times(column: pa.Array | None, now_ms: int, order: Int64s | None) -> _Times:
    if column is None or column.null_count == len(column):
        return _Times(None, now_ms)
    each = column.fill_null(now_ms).to_numpy()
    first = int(each[0])
    if (each == first).all():
        return _Times(None, first)
    return _Times(each if order is None else each[order], first)


def _pieces(cuts: Cuts) -> Iterator[tuple[int, int]]:
    """Runs of batches, from one to before the other, that are written together."""
    ends = np.cumsum(np.add.reduceat(cuts.bodies, cuts.bounds[:-1]))
    first, count = 0, len(ends)
    while first < count:
        done = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, done + _PIECE_BYTES, "right")), first + 1)
        yield first, last
        first = last


def _written(measured: Measured, bodies: Int64s, deltas: Deltas) -> _Written:
    """The bytes of records; each column that is joined costs time, so neighbours that are numbers make up one."""
    value, key, headers = measured.value, measured.key, measured.headers
    timestamp = _NO_DELTA if deltas.timestamp is None else deltas.timestamp
    head: list[UInt64s | int] = [doubled(bodies), _ATTRIBUTES, timestamp, deltas.offset]
    if headers is None:
        # The byte that says so ends the record. Written ahead of the next one it needs no column.
        head = [_NO_HEADERS, *head]
    if key is None:
        columns = [packed([*head, _NULL_KEY, value.varints]), value.data]
    else:
        columns = [packed([*head, key.varints]), key.data, packed([value.varints]), value.data]
    if headers is not None:
        columns += (packed([headers.counts]), headers.data)
    records = joined(*columns)
    return _Written(offsets_of(records), records.buffers()[2], b"" if headers else bytes([_NO_HEADERS]))


def _batches(written: _Written, first: int, last: int, plan: _Plan) -> Iterator[ReadyBatch]:
    """The batches of one piece."""
    bounds, each, common = plan.cuts.bounds[first : last + 1], plan.times.each, [plan.times.common] * (last - first)
    starts = bounds[:-1]
    slots = (np.searchsorted(plan.grouped.ends, starts, "right") - 1).tolist()
    base = common if each is None else each[starts].tolist()
    latest = common if each is None else np.maximum.reduceat(each[: bounds[-1]], starts).tolist()
    places = written.offsets[bounds - bounds[0]].tolist()
    rows = bounds.tolist()
    ahead = len(written.tail)
    with memoryview(written.data) as data:
        for place, slot in enumerate(slots):
            start, stop = rows[place : place + 2]
            with data[places[place] + ahead : places[place + 1]] as records:
                yield finished(
                    records,
                    written.tail,
                    slot=slot,
                    sequence=plan.sequence[start:stop],
                    base_timestamp=base[place],
                    max_timestamp=latest[place],
                    codec=plan.codec,
                    transactional=plan.transactional,
                )
