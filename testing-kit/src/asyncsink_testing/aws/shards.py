"""The shards of a stream: who has which hash keys, how much each takes, and how they are split and merged."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

HASH_KEYS = 1 << 128
RECORDS_PER_S = 1_000
BYTES_PER_S = 1_000_000


def hash_key_of(partition_key: str, explicit_hash_key: str | None = None) -> int:
    """The number that chooses a record's shard: MD5 of its key, unless it brings a hash key of its own."""
    if explicit_hash_key is not None:
        return int(explicit_hash_key)
    return int.from_bytes(hashlib.md5(partition_key.encode(), usedforsecurity=False).digest())


@dataclass(slots=True)
class Shard:
    """One shard.

    :param first: its lowest hash key
    :param last: its highest hash key
    :param parents: the shard that was split into it, or the two that were merged
    :param created: the sequence number from which it is there
    :param closed: the sequence number with which it ended; None while it is open
    """

    id: str
    first: int
    last: int
    parents: tuple[str, ...] = ()
    created: int = 0
    closed: int | None = None
    records: _Bucket | None = field(default=None, repr=False)
    bytes: _Bucket | None = field(default=None, repr=False)

    def described(self) -> dict[str, Any]:
        """As ``ListShards`` tells it."""
        numbers = {"StartingSequenceNumber": sequence_number(self.created)}
        if self.closed is not None:
            numbers["EndingSequenceNumber"] = sequence_number(self.closed)
        parents = dict(zip(("ParentShardId", "AdjacentParentShardId"), self.parents, strict=False))
        hash_keys = {"StartingHashKey": str(self.first), "EndingHashKey": str(self.last)}
        return {"ShardId": self.id, **parents, "HashKeyRange": hash_keys, "SequenceNumberRange": numbers}


@dataclass(slots=True)
class _Bucket:
    """Tokens that refill with time; a second's worth of them can be kept."""

    per_s: float
    tokens: float
    at_s: float

    def refill(self, now_s: float) -> None:
        self.tokens = min(self.per_s, self.tokens + (now_s - self.at_s) * self.per_s)
        self.at_s = now_s


class ShardModel:
    """The shards of one stream, and what each of them takes a second.

    A record is taken when its shard has a token for it and as many tokens as it has bytes; more bytes than a second's
    worth wait for a full bucket and leave it in debt, as the service lets large records burst.

    :param shards: to begin with, each with an equal part of the hash keys
    :param records_per_s: of each shard; None for no limit, as for `bytes_per_s`
    :param clock: seconds; a test in virtual time gives its own
    """

    def __init__(
        self,
        shards: int = 1,
        records_per_s: float | None = RECORDS_PER_S,
        bytes_per_s: float | None = BYTES_PER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if shards < 1:
            raise ValueError(f"a stream has 1 shard or more, not {shards}")
        self._records_per_s, self._bytes_per_s, self._clock = records_per_s, bytes_per_s, clock
        self.shards: dict[str, Shard] = {}
        """All, by id: those that are closed too, as the service lists them while their records are kept."""
        self.sequence = 0
        """The number of the last record, or of the last change of the shards."""
        bounds = [HASH_KEYS * at // shards for at in range(shards + 1)]
        for at in range(shards):
            self._add(bounds[at], bounds[at + 1] - 1)

    @property
    def open_shards(self) -> list[Shard]:
        return [each for each in self.shards.values() if each.closed is None]

    def shard_of(self, hash_key: int) -> Shard:
        """The open shard that has this hash key."""
        return next(each for each in self.open_shards if each.first <= hash_key <= each.last)

    def take(self, hash_key: int, size_in_bytes: int) -> bool:
        """Whether the shard of this hash key takes a record of so many bytes now; it has then."""
        shard, now_s = self.shard_of(hash_key), self._clock()
        wanted = [
            (bucket, cost) for bucket, cost in ((shard.records, 1), (shard.bytes, size_in_bytes)) if bucket is not None
        ]
        for bucket, _ in wanted:
            bucket.refill(now_s)
        if any(bucket.tokens < min(cost, bucket.per_s) for bucket, cost in wanted):
            return False
        for bucket, cost in wanted:
            bucket.tokens -= cost
        return True

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    def split(self, shard_id: str, at: int | None = None) -> tuple[Shard, Shard]:
        """Close a shard and open two in its place.

        :param at: the lowest hash key of the second; by default the middle
        :raises ValueError: the shard is not open, or does not hold this hash key beyond its first
        """
        shard = self._open(shard_id)
        middle = (shard.first + shard.last + 1) // 2 if at is None else at
        if not shard.first < middle <= shard.last:
            raise ValueError(f"shard {shard_id} cannot be split at {middle}: it has {shard.first} to {shard.last}")
        self._close(shard)
        return self._add(shard.first, middle - 1, shard_id), self._add(middle, shard.last, shard_id)

    def merge(self, shard_id: str, adjacent_id: str) -> Shard:
        """Close two neighbours and open one in their place.

        :raises ValueError: one is not open, or they are no neighbours
        """
        low, high = sorted((self._open(shard_id), self._open(adjacent_id)), key=lambda each: each.first)
        if low.last + 1 != high.first:
            raise ValueError(f"shards {shard_id} and {adjacent_id} are no neighbours")
        self._close(low)
        self._close(high)
        return self._add(low.first, high.last, shard_id, adjacent_id)

    def _open(self, shard_id: str) -> Shard:
        shard = self.shards.get(shard_id)
        if shard is None or shard.closed is not None:
            raise ValueError(f"shard {shard_id} is not open; {', '.join(each.id for each in self.open_shards)} are")
        return shard

    def _close(self, shard: Shard) -> None:
        shard.closed = self.next_sequence()

    def _add(self, first: int, last: int, *parents: str) -> Shard:
        now_s = self._clock()
        limits = (self._records_per_s, self._bytes_per_s)
        records, size = (None if per_s is None else _Bucket(per_s, per_s, now_s) for per_s in limits)
        shard_id = f"shardId-{len(self.shards):012}"
        created = self.next_sequence() if parents else self.sequence
        shard = Shard(shard_id, first, last, parents, created, records=records, bytes=size)
        self.shards[shard_id] = shard
        return shard


_FIRST = 49_600_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000


def sequence_number(number: int) -> str:
    """As the service writes sequence numbers: 56 digits, which grow."""
    return str(_FIRST + number)


def sequence_of(text: str) -> int | None:
    """The number that a sequence number stands for; None if it is none of ours."""
    number = int(text) - _FIRST if text.isascii() and text.isdigit() else -1
    return number if number >= 0 else None
