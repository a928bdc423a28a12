"""Streams for the tests: shards that divide the hash keys evenly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from asyncsink_kinesis.shards.shard import Shard


def evenly(count: int, first: int = 0) -> list[Shard]:
    """So many shards of equal size, numbered from `first`."""
    starts = [2**128 * index // count for index in range(count + 1)]
    return [Shard(f"shardId-{first + index:012}", starts[index], starts[index + 1] - 1) for index in range(count)]


def listing(shards: Sequence[Shard]) -> Callable[[], Awaitable[Sequence[Shard]]]:
    """What lists the shards of a stream."""

    async def list_open() -> Sequence[Shard]:
        return shards

    return list_open
