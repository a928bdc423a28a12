"""Streams for the tests: shards that divide the hash keys evenly, and a client that lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from asyncsink_kinesis.shards.shard import Shard

SPACE = 2**128


def evenly(count: int, first: int = 0) -> list[Shard]:
    """So many shards of equal size, numbered from `first`."""
    starts = [SPACE * index // count for index in range(count)] + [SPACE]
    return [Shard(f"shardId-{first + index:012}", starts[index], starts[index + 1] - 1) for index in range(count)]


def described(shard: Shard, *, closed: bool = False) -> dict[str, Any]:
    """A shard as ListShards tells of it."""
    numbers = {"StartingSequenceNumber": "1"} | ({"EndingSequenceNumber": "2"} if closed else {})
    keys = {"StartingHashKey": str(shard.start), "EndingHashKey": str(shard.end)}
    return {"ShardId": shard.id, "HashKeyRange": keys, "SequenceNumberRange": numbers}


class Listing:
    """What lists the shards of a stream that a test divides anew; counts how often it is asked."""

    def __init__(self, shards: Sequence[Shard], latency_s: float = 0.0) -> None:
        self.shards, self.latency_s = shards, latency_s
        self.asked = 0
        self.error: Exception | None = None

    async def __call__(self) -> Sequence[Shard]:
        self.asked += 1
        await anyio.sleep(self.latency_s)
        if self.error is not None:
            raise self.error
        return self.shards


class Pages:
    """``client.list_shards`` that gives its answers page by page, and keeps what it was asked."""

    def __init__(self, *pages: Sequence[Mapping[str, Any]]) -> None:
        self._pages = pages
        self.asked: list[Mapping[str, Any]] = []

    async def __call__(self, **parameters: Any) -> Mapping[str, Any]:
        self.asked.append(parameters)
        number = len(self.asked)
        token = {"NextToken": f"page {number}"} if number < len(self._pages) else {}
        return {"Shards": self._pages[number - 1], **token}
