"""The sink with ``perShardLimits``, against a stream on the wire."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import Column, FatalRequestError, Schema, WriteContext, WriterInitContext
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.shards.limits import PER_SHARD
from asyncsink_kinesis.shards.shard_map import ShardMap
from asyncsink_testing.aws import KinesisDestination, KinesisFake, ShardModel

from .streams import Listing, evenly

pytestmark = pytest.mark.anyio

KEYS: dict[str, Any] = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "secret"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def sink_at(destination: KinesisDestination, **values: Any) -> KinesisSink:
    fake = destination.fake
    values = {"per_shard_limits": True, **KEYS, **values}
    return KinesisSink(stream_name=fake.name, region=fake.region, endpoint=destination.endpoint, **values)


def some_entries(count: int) -> list[KinesisEntry]:
    return [KinesisEntry(f"{index}".encode(), f"key-{index % 50}") for index in range(count)]


def stored(fake: KinesisFake) -> Counter[KinesisEntry]:
    return Counter(KinesisEntry(each.data, each.partition_key, each.explicit_hash_key) for each in fake.records)


async def test_each_request_goes_to_one_shard() -> None:
    fake, written = KinesisFake(shards=ShardModel(4, None, None)), some_entries(600)
    async with KinesisDestination.opened(fake) as destination:
        async with sink_at(destination).open() as writer:
            await writer.write_many(written)
        shard_of = {each.data: each.shard_id for each in fake.records}
        places = [{shard_of[payload] for payload in request.payloads} for request in destination.requests]
    assert stored(fake) == Counter(written)
    assert [len(each) for each in places] == [1] * len(places)
    assert {each.pop() for each in places} == {each.id for each in fake.shards.open_shards}


async def test_a_split_while_a_writer_writes_loses_nothing_and_is_noticed() -> None:
    fake, written = KinesisFake(shards=ShardModel(1, None, None)), some_entries(500)
    async with KinesisDestination.opened(fake) as destination:
        async with sink_at(destination).open() as writer:
            await writer.write_many(written)
            fake.shards.split(fake.shards.open_shards[0].id)
            await writer.flush(end_of_input=True)
            await writer.write_many(written)
            await writer.flush(end_of_input=True)
            before = len(destination.requests)
            await writer.write_many(written)
        shard_of = {each.data: each.shard_id for each in fake.records}
        after = [{shard_of[payload] for payload in each.payloads} for each in destination.requests[before:]]
    assert {len(each) for each in after} == {1}
    assert set.union(*after) == {each.id for each in fake.shards.open_shards}
    assert stored(fake) == Counter(written * 3)


async def test_without_it_requests_hold_records_of_all_shards() -> None:
    fake = KinesisFake(shards=ShardModel(4, None, None))
    async with KinesisDestination.opened(fake) as destination:
        async with sink_at(destination, per_shard_limits=False).open() as writer:
            await writer.write_many(some_entries(100))
        shard_of = {each.data: each.shard_id for each in fake.records}
        assert len({shard_of[payload] for payload in destination.requests[0].payloads}) > 1


async def test_a_stream_that_is_not_there_is_told_in_one_message() -> None:
    async with KinesisDestination.opened() as destination:
        sink = KinesisSink(
            stream_name="other", region="eu-west-1", endpoint=destination.endpoint, per_shard_limits=True, **KEYS
        )
        with pytest.raises(FatalRequestError, match="other"):
            async with sink.open():
                pass


def test_each_shard_has_the_limits_of_a_shard() -> None:
    config = KinesisSink(stream_name="rows", per_shard_limits=True).config
    assert config.rate_limit == PER_SHARD
    assert config.max_batch_size_in_bytes == 1024 * 1024
    assert KinesisSink(stream_name="rows").config.rate_limit != PER_SHARD


def test_the_rows_of_a_batch_have_the_routes_of_their_entries() -> None:
    shards = ShardMap(Listing([]), evenly(5))
    sink = KinesisSink(stream_name="rows", per_shard_limits=True)
    sink._shards = shards
    columns = {
        "data": pa.array([b"x"] * 60, pa.binary()),
        "partitionKey": [f"key-{index % 20}" for index in range(60)],
        "explicitHashKey": pa.array([None if index % 3 else str(2**127 + index) for index in range(60)], pa.string()),
    }
    schema = Schema(tuple(Column(name, "binary" if name == "data" else "string") for name in columns))
    made = sink.converter(schema)
    made.open(WriterInitContext())
    block = made.apply_batch(pa.RecordBatch.from_pydict(columns), WriteContext())
    distinct, indices = block.routes() or ((), ())
    assert [distinct[index] for index in indices] == [*map(sink.route_of, block)]
    assert len(set(indices)) == 5


def test_a_sink_travels_without_what_it_was_told() -> None:
    sink = KinesisSink(stream_name="rows", per_shard_limits=True)
    sink._shards, sink._stream_limit = ShardMap(Listing([]), evenly(2)), 5
    copy = pickle.loads(pickle.dumps(sink))
    assert copy.options == sink.options
    assert copy.route_of(KinesisEntry(b"", "a")) is None
