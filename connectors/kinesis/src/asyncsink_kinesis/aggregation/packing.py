"""The rows of a request as few records: one shard's rows share frames."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from asyncsink_kinesis.aggregation.frame import OpenFrame, Row
from asyncsink_kinesis.options import AGGREGATED_BYTES
from asyncsink_kinesis.shards.shard import Shard
from asyncsink_kinesis.shards.shard_map import ShardMap


class Frame(NamedTuple):
    """One record of a request, with the fields of an entry, and the rows that it holds.

    :ivar rows: indices into the entries of the request
    :ivar shard: where it should land; None for a record of one row, which is no frame and belongs where it lands
    """

    data: bytes
    partition_key: str
    explicit_hash_key: str | None
    rows: Sequence[int]
    shard: str | None


def pack(
    entries: Sequence[Row], shards: ShardMap, *, max_bytes: int = AGGREGATED_BYTES, route: Hashable | None = None
) -> list[Frame]:
    """The rows of a request as records of at most `max_bytes`, in the order of their first rows.

    Only rows of one shard share a frame, which goes there by the hash key at which the shard begins. A row that is
    alone in its frame, as one that is too large for any, becomes an ordinary record. Rows with an explicit hash key
    and rows without share no frame: Amazon's reader for Python would give the latter a hash key of the former.

    :param route: the shard of all rows; if it is open no more, the shards of the rows are looked up again
    """
    rows = list(entries)
    frames: list[Frame] = []
    for shard_id, chosen in _by_shard(rows, shards, route):
        shard = shards.shard(shard_id)
        assert shard is not None
        for part in _apart(rows, chosen):
            frames += _frames(rows, part, max_bytes, shard)
    return sorted(frames, key=lambda each: each.rows[0])


def _by_shard(rows: Sequence[Row], shards: ShardMap, route: Hashable | None) -> list[tuple[str, Sequence[int]]]:
    if isinstance(route, str) and shards.shard(route):
        # Ranges never change: a shard that is open has kept all rows that were once found to be its own.
        return [(route, range(len(rows)))]
    explicit = [row[2] for row in rows]
    given = None if explicit.count(None) == len(rows) else explicit
    ids, places = shards.shards_of([row[1] for row in rows], given)
    found: dict[int, list[int]] = {}
    for index, place in enumerate(places.tolist()):
        found.setdefault(place, []).append(index)
    return [(ids[place], indices) for place, indices in found.items()]


def _apart(rows: Sequence[Row], chosen: Sequence[int]) -> list[Sequence[int]]:
    """The chosen rows without an explicit hash key, and those with one."""
    explicit = [index for index in chosen if rows[index][2] is not None]
    if not explicit:
        return [chosen]
    return [[index for index in chosen if rows[index][2] is None], explicit]


def _frames(rows: Sequence[Row], chosen: Sequence[int], limit: int, shard: Shard) -> list[Frame]:
    """The chosen rows in order, cut wherever a frame would become too large."""
    found: list[Frame] = []
    parts = rows if len(chosen) == len(rows) else [rows[index] for index in chosen]
    start = 0
    while start < len(parts):
        opened = OpenFrame(limit)
        stop = opened.fill(parts, start)
        data, key, explicit = parts[start]
        if stop - start == 1:
            found.append(Frame(data, key, explicit, chosen[start:stop], None))
        else:
            found.append(Frame(opened.encoded(), key, str(shard.start), chosen[start:stop], shard.id))
        start = stop
    return found
