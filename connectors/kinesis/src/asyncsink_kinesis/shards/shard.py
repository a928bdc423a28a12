"""One shard, and the listing of those that take records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

ListShards = Callable[..., Awaitable[Mapping[str, Any]]]
"""``client.list_shards`` of aiobotocore."""


class Shard(NamedTuple):
    """A shard that takes records: those with hash keys from `start` to `end`, both included."""

    id: str
    start: int
    end: int

    def holds(self, hash_key: bytes) -> bool:
        return self.start <= int.from_bytes(hash_key, "big") <= self.end


async def open_shards(list_shards: ListShards, stream: Mapping[str, str]) -> list[Shard]:
    """The shards that take records now, in order of their hash keys, read page by page.

    A shard that was split or merged stays in the listing until its records have expired, closed by the sequence number
    at its end. Raises what `list_shards` raises.

    :param stream: ``{"StreamName": ...}`` or ``{"StreamARN": ...}``
    """
    found: list[Shard] = []
    # The service leaves the closed ones out by itself, unlike some of those that stand in for it.
    page = await list_shards(**stream, ShardFilter={"Type": "AT_LATEST"})
    while True:
        found.extend(_shard(each) for each in page["Shards"] if _is_open(each))
        if not page.get("NextToken"):
            return sorted(found, key=lambda each: each.start)
        # The service refuses a token beside the stream that it stands for.
        page = await list_shards(NextToken=page["NextToken"])


def _is_open(described: Mapping[str, Any]) -> bool:
    return described["SequenceNumberRange"].get("EndingSequenceNumber") is None


def _shard(described: Mapping[str, Any]) -> Shard:
    keys = described["HashKeyRange"]
    return Shard(described["ShardId"], int(keys["StartingHashKey"]), int(keys["EndingHashKey"]))
