"""The sink with limits of each shard while the stream is resharded, in virtual time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import anyio
import pytest

from asyncsink import RetryPolicy
from asyncsink.context import InitContext
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.client import KinesisClient
from asyncsink_kinesis.shards.shard import Shard
from asyncsink_kinesis.shards.shard_map import ShardMap
from asyncsink_kinesis.stream import StreamDescription
from asyncsink_testing.aws.shards import ShardModel, hash_key_of
from asyncsink_testing.virtual_time import virtual

from .sharded import LATENCY_S

KEYS, ROWS = 300, 6_000
WRITTEN = [KinesisEntry(f"{number}".encode().rjust(100), f"key-{number % KEYS}") for number in range(ROWS)]


class Service:
    """``put_records`` of a client, by shards in memory that throttle nothing; keeps what it has taken."""

    def __init__(self, shards: int) -> None:
        self.model = ShardModel(shards, None, None)
        self.stored: list[tuple[str, bytes]] = []
        """Keys and payloads, in the order of their arrival."""
        self.listed = 0
        self.listing_s = LATENCY_S

    async def list_open(self) -> list[Shard]:
        self.listed += 1
        await anyio.sleep(self.listing_s)
        return [Shard(each.id, each.first, each.last) for each in self.model.open_shards]

    async def put_records(self, **request: Any) -> dict[str, Any]:
        await anyio.sleep(LATENCY_S)
        records = request["Records"]
        self.stored += [(each["PartitionKey"], each["Data"]) for each in records]
        placed = [hash_key_of(each["PartitionKey"], each.get("ExplicitHashKey")) for each in records]
        told = [{"ShardId": self.model.shard_of(hash_key).id} for hash_key in placed]
        await anyio.sleep(LATENCY_S)
        return {"FailedRecordCount": 0, "Records": told}


class SinkInMemory(KinesisSink):
    """The sink itself, with a client of a stream in memory."""

    service: Service

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[KinesisClient]:
        shards = await ShardMap.read(self.service.list_open)
        aws: Any = self.service
        yield KinesisClient(aws, StreamDescription(), shards)


def sink_of(service: Service, aggregation: Literal["none", "kpl"] = "none") -> SinkInMemory:
    sink = SinkInMemory(stream_name="rows", per_shard_limits=True, aggregation=aggregation, ready_bodies=False)
    sink.service = service
    return sink


@pytest.mark.parametrize("change", ["split", "merge"])
def test_the_order_of_keys_outlasts_a_resharding(change: str) -> None:
    @virtual
    async def run() -> None:
        service = Service(2)
        sink = sink_of(service)
        async with sink.open(replace(sink.config, ordering="key")) as writer:
            await writer.write_many(WRITTEN[: ROWS // 2])
            first, second = (each.id for each in service.model.open_shards)
            if change == "split":
                service.model.split(first)
            else:
                service.model.merge(first, second)
            async with sink.open():
                pass  # what another writer is told of the new shards is not for the first
            for start in range(ROWS // 2, ROWS, KEYS):
                await writer.write_many(WRITTEN[start : start + KEYS])
                await anyio.sleep(LATENCY_S)

        numbers: dict[str, list[int]] = defaultdict(list)
        for key, data in service.stored:
            numbers[key].append(int(data))
        assert sorted(int(data) for _, data in service.stored) == [*range(ROWS)]
        assert [key for key, found in numbers.items() if found != sorted(found)] == []
        assert service.listed > 1

    run()


@virtual
async def test_no_row_that_is_stored_waits_for_a_listing_that_hangs() -> None:
    service = Service(1)
    sink = sink_of(service)
    config = replace(sink.config, request_timeout_s=2.0)
    async with sink.open(config) as writer:
        service.listing_s = 3600.0
        service.model.split(service.model.open_shards[0].id)
        for start in range(0, 2_000, 500):
            await writer.write_many(WRITTEN[start : start + 500])
            await writer.flush(end_of_input=True)
    assert service.listed > 1
    assert sorted(int(data) for _, data in service.stored) == [*range(2_000)]


@virtual
async def test_packed_rows_are_not_given_up_while_the_new_shards_cannot_be_listed() -> None:
    service = Service(1)
    sink = sink_of(service, aggregation="kpl")
    config = replace(sink.config, retry=RetryPolicy(max_attempts=2))
    async with sink.open(config) as writer:
        service.listing_s = 3600.0
        service.model.split(service.model.open_shards[0].id)
        await writer.write_many(WRITTEN[:1_000])
        async with anyio.create_task_group() as group:
            group.start_soon(writer.flush, True)
            await anyio.sleep(60.0)
            assert not writer.statistics().acknowledged
            service.listing_s = LATENCY_S
        assert writer.statistics().acknowledged == 1_000
