"""The partitioners that Kafka users know, on whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from asyncsink_kafka.partitioning.murmur2 import murmur2_many
from asyncsink_kafka.partitioning.partitioner import BuiltIn

if TYPE_CHECKING:
    from asyncsink_kafka.records import Records

_RECORD_OVERHEAD: Final = 10  # bytes, about: lengths, offset and timestamp


class Sticky(BuiltIn):
    """Stays with one available partition until a batch's bytes have gone there, then takes another (KIP-794).

    Keys are ignored, as with Java's ``partitioner.ignore.keys``. Batches are fuller than if rows went round.

    :param batch_size_in_bytes: bytes after which another partition is taken
    """

    name = "sticky"

    def __init__(self, batch_size_in_bytes: int, random: Random | None = None) -> None:
        self._limit = max(1, batch_size_in_bytes)
        self._random = random or Random()
        self._present: dict[str, tuple[int, int]] = {}

    def prepare(self, records: Records) -> NDArray[np.int64]:
        return sizes_about(records)

    def assign(
        self, topic: str, prepared: NDArray[Any], partitions: int, available: Sequence[int]
    ) -> NDArray[np.int32]:
        choices = available or range(partitions)
        partition, sent = self._present.get(topic, (-1, 0))
        if partition not in choices:
            partition, sent = self._other(choices, partition), 0
        chosen = np.empty(len(prepared), np.int32)
        totals = np.cumsum(prepared)
        start, before = 0, 0
        while start < len(chosen):
            # The record that reaches the limit is the last one to go there.
            reached = int(np.searchsorted(totals, before + self._limit - sent))
            stop = min(reached + 1, len(chosen))
            chosen[start:stop] = partition
            start, before, sent = stop, int(totals[stop - 1]), sent + int(totals[stop - 1]) - before
            if sent >= self._limit:
                partition, sent = self._other(choices, partition), 0
        self._present[topic] = partition, sent
        return chosen

    def _other(self, choices: Sequence[int], present: int) -> int:
        if len(choices) == 1:
            return choices[0]
        drawn = self._random.choice(choices)
        while drawn == present:
            drawn = self._random.choice(choices)
        return drawn


class Murmur2(BuiltIn):
    """Java's default: a keyed record by its key's hash, an empty key too; one without a key as :class:`Sticky` does.

    The partition of a key is ``Utils.toPositive(Utils.murmur2(key)) % partitions``, whether that has a leader or not.
    """

    name = "murmur2"

    def __init__(self, batch_size_in_bytes: int, random: Random | None = None) -> None:
        self._sticky = Sticky(batch_size_in_bytes, random)

    def prepare(self, records: Records) -> NDArray[Any]:
        """The hash where there is a key; where there is none the size, made negative by its complement."""
        if records.key is None:
            return ~sizes_about(records)
        hashes = murmur2_many(records.key) & np.uint32(0x7FFFFFFF)
        if not records.key.null_count:
            return hashes
        return np.where(records.key.is_null().to_numpy(zero_copy_only=False), ~sizes_about(records), hashes)

    def assign(self, topic: str, prepared: NDArray[Any], partitions: int, available: Sequence[int]) -> NDArray[Any]:
        chosen: NDArray[Any] = prepared % prepared.dtype.type(partitions)
        if prepared.dtype == np.uint32:
            return chosen
        if len(keyless := np.flatnonzero(prepared < 0)):
            chosen[keyless] = self._sticky.assign(topic, ~prepared[keyless], partitions, available)
        return chosen


class RoundRobin(BuiltIn):
    """One available partition after another, whatever the key; all partitions if none is known to be available.

    It begins anywhere: the writers of many small batches would else all begin with the first partition.
    """

    name = "round-robin"

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()
        self._next: dict[str, int] = {}

    def prepare(self, records: Records) -> NDArray[np.int8]:
        return np.zeros(len(records), np.int8)

    def assign(
        self, topic: str, prepared: NDArray[Any], partitions: int, available: Sequence[int]
    ) -> NDArray[np.int32]:
        choices = np.asarray(available or range(partitions), np.int32)
        if topic not in self._next:
            self._next[topic] = self._random.randrange(len(choices))
        first = self._next[topic]
        self._next[topic] += len(prepared)
        return choices[np.arange(first, first + len(prepared)) % len(choices)]


class Fixed(BuiltIn):
    """Everything of one writer to one partition, as Flink's FlinkFixedPartitioner: that with the writer's number."""

    name = "fixed"
    _writer_id = 0

    def open(self, writer_id: int, writers: int | None) -> None:
        self._writer_id = writer_id

    def prepare(self, records: Records) -> NDArray[np.int8]:
        return np.zeros(len(records), np.int8)

    def assign(
        self, topic: str, prepared: NDArray[Any], partitions: int, available: Sequence[int]
    ) -> NDArray[np.int32]:
        return np.full(len(prepared), self._writer_id % partitions, np.int32)


def sizes_about(records: Records) -> NDArray[np.int64]:
    """The bytes of each record, near enough to share them out: headers count by their average."""
    sizes = _lengths(records.value)
    if records.key is not None:
        sizes += _lengths(records.key)
    headers = 0 if records.headers is None or not len(records) else records.headers.nbytes // len(records)
    sizes += _RECORD_OVERHEAD + headers
    return sizes


def _lengths(column: pa.Array) -> NDArray[np.int64]:
    lengths = pc.binary_length(column)
    if lengths.null_count:
        lengths = lengths.fill_null(0)
    found: NDArray[np.int64] = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
