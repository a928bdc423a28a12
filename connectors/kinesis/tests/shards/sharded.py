"""A sink of records whose routes are shards, and a stream in memory that throttles each shard, both in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from asyncsink import AsyncSink, ElementConverter, RequestEntries, RequestResult
from asyncsink.context import InitContext, Schema, WriteContext
from asyncsink.failures import ErrorTable, Failure
from asyncsink_kinesis.entry import KinesisEntry, size_in_bytes
from asyncsink_kinesis.shards.shard import Shard
from asyncsink_kinesis.shards.shard_map import ShardMap
from asyncsink_testing.aws.shards import ShardModel, hash_key_of

THROTTLED = "ProvisionedThroughputExceededException"
LATENCY_S = 0.02


class Stream:
    """What a request meets: shards that take so much a second each; keeps what it has taken."""

    def __init__(self, shards: int) -> None:
        self.model = ShardModel(shards, clock=anyio.current_time)
        self.stored: list[KinesisEntry] = []
        self.stored_s: list[float] = []
        self.throttled_s: list[float] = []
        self.routes: list[Hashable | None] = []
        """Of the requests, in order."""

    async def list_open(self) -> list[Shard]:
        await anyio.sleep(LATENCY_S)
        return [Shard(each.id, each.first, each.last) for each in self.model.open_shards]

    async def put(self, entries: RequestEntries[KinesisEntry]) -> tuple[RequestResult, set[str]]:
        """Take what fits; the failures by index, and the shards that the answer names."""
        self.routes.append(entries.route)
        await anyio.sleep(LATENCY_S)
        failed: dict[int, Failure] = {}
        places = set()
        for index, entry in enumerate(entries):
            hash_key = hash_key_of(entry.partition_key, entry.explicit_hash_key)
            if self.model.take(hash_key, size_in_bytes(entry)):
                places.add(self.model.shard_of(hash_key).id)
                self.stored.append(entry)
                self.stored_s.append(anyio.current_time())
            else:
                failed[index] = Failure(THROTTLED)
                self.throttled_s.append(anyio.current_time())
        await anyio.sleep(LATENCY_S)
        return RequestResult(failed), places

    def entry(self, shard: int, number: int, size: int = 100) -> KinesisEntry:
        """A record of the shard with this number, whatever its partition key."""
        first = self.model.open_shards[shard].first
        return KinesisEntry(str(number).encode().rjust(size), f"key-{number}", str(first + number))


class _AsItIs(ElementConverter[KinesisEntry, KinesisEntry]):
    def apply(self, element: KinesisEntry, context: WriteContext) -> KinesisEntry:
        return element


class ShardedSink(AsyncSink[KinesisEntry, KinesisEntry, Stream]):
    """Puts records into a stream; their routes are shards, unless `by_shard` is False."""

    errors = ErrorTable.of(throttled={THROTTLED})

    def __init__(self, stream: Stream, shards: ShardMap, *, by_shard: bool = True) -> None:
        self.stream, self.shards, self.by_shard = stream, shards, by_shard

    @property
    def fingerprint(self) -> str:
        return "sharded"

    @asynccontextmanager
    async def _lend(self) -> AsyncIterator[Stream]:
        yield self.stream

    def connect(self, context: InitContext) -> Any:
        return self._lend()

    def converter(self, schema: Schema | None) -> _AsItIs:
        return _AsItIs()

    def size_in_bytes(self, entry: KinesisEntry) -> int:
        return size_in_bytes(entry)

    def route_of(self, entry: KinesisEntry) -> Hashable | None:
        return self.shards.shard_of(entry.partition_key, entry.explicit_hash_key) if self.by_shard else None

    async def submit_request_entries(self, entries: RequestEntries[KinesisEntry], client: Stream) -> RequestResult:
        await self.shards.catch_up()
        result, places = await client.put(entries)
        self.shards.learned(places)
        return result
