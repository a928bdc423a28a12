"""The sink with the kernel's writer against a stream that misbehaves: what stands in it, and in which order."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import Column, Schema, WriteContext, WriterInitContext
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_testing import Fault
from asyncsink_testing.aws import KinesisDestination, KinesisFake, ShardModel

pytestmark = pytest.mark.anyio

MAX_HASH_KEY = str(2**128 - 1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def sink_for(destination: KinesisDestination, **options: str) -> KinesisSink:
    return KinesisSink.from_options(
        {
            "streamName": destination.fake.name,
            "region": destination.fake.region,
            "endpoint": destination.endpoint,
            "accessKeyId": "AKIDEXAMPLE",
            "secretAccessKey": "c2VjcmV0",
            "maxBatchSize": "10",
            "retry.initialBackoff": "1ms",
            "retry.maxBackoff": "10ms",
            **options,
        }
    )


def stored(fake: KinesisFake) -> list[KinesisEntry]:
    return [KinesisEntry(each.data, each.partition_key, each.explicit_hash_key) for each in fake.records]


ROWS = [
    KinesisEntry(b"plain", "key"),
    KinesisEntry(b"", 'quote " backslash \\ line\n'),
    KinesisEntry(bytes(range(256)), "ключ 🔑", "0"),
    KinesisEntry(b"\xff" * 5000, "k" * 256, MAX_HASH_KEY),
    KinesisEntry(b"plain", "key"),
]


@pytest.mark.parametrize("ready", ["true", "false"], ids=["ready bodies", "botocore's"])
async def test_data_key_and_hash_key_arrive_as_they_were_written(ready: str) -> None:
    async with KinesisDestination.opened() as destination:
        async with sink_for(destination, readyBodies=ready).open() as writer:
            await writer.write_many(ROWS)
        assert stored(destination.fake) == ROWS


@pytest.mark.parametrize("ready", ["true", "false"], ids=["ready bodies", "botocore's"])
async def test_records_that_fail_by_index_go_again_and_no_other(ready: str) -> None:
    async with KinesisDestination.opened() as destination:
        destination.script([Fault.PARTLY_THROTTLED, Fault.PARTLY_FAILED, Fault.PARTLY_THROTTLED])
        rows = [KinesisEntry(str(number).encode(), f"key-{number}") for number in range(95)]
        async with sink_for(destination, readyBodies=ready).open() as writer:
            await writer.write_many(rows)
        assert Counter(stored(destination.fake)) == Counter(rows)
        assert len(destination.requests) > 10


async def test_an_arrow_batch_arrives_as_its_rows_do() -> None:
    schema = Schema((Column("data", "binary"), Column("partitionKey", "string"), Column("explicitHashKey", "string")))
    data, keys, hash_keys = zip(*ROWS, strict=True)
    batch = pa.RecordBatch.from_pydict(
        {"data": pa.array(data), "partitionKey": pa.array(keys), "explicitHashKey": pa.array(hash_keys)}
    )
    async with KinesisDestination.opened() as destination:
        sink = sink_for(destination)
        async with sink.open() as writer:
            converter = sink.converter(schema)
            converter.open(WriterInitContext())
            await writer.write_block(converter.apply_batch(batch, WriteContext()))
        assert stored(destination.fake) == ROWS


async def test_rows_become_json_with_a_key_of_their_columns() -> None:
    async with KinesisDestination.opened() as destination:
        async with sink_for(destination, partitionKey="user,day").open() as writer:
            await writer.write({"user": "ann", "day": 7, "n": None})
        [entry] = stored(destination.fake)
    assert (json.loads(entry.data), entry.partition_key) == ({"user": "ann", "day": 7}, "ann|7")


async def test_random_keys_spread_rows_over_all_shards() -> None:
    fake = KinesisFake(shards=ShardModel(4, None, None))
    async with KinesisDestination.opened(fake) as destination:
        async with sink_for(destination).open() as writer:
            await writer.write_many([b"row"] * 400)
    shards = Counter(each.shard_id for each in fake.records)
    assert len(shards) == 4
    assert min(shards.values()) > 60


async def test_the_order_of_a_key_is_kept_through_failures() -> None:
    rows = [KinesisEntry(str(number).encode(), f"key-{number % 7}") for number in range(100)]
    async with KinesisDestination.opened() as destination:
        destination.script([Fault.PARTLY_FAILED, Fault.THROTTLED, Fault.PARTLY_THROTTLED, Fault.REFUSED] * 5)
        async with sink_for(destination, ordering="key").open() as writer:
            await writer.write_many(rows)
        found = stored(destination.fake)
    for key in {each.partition_key for each in rows}:
        of_key = [int(each.data) for each in found if each.partition_key == key]
        assert of_key == sorted(of_key)
    assert Counter(found) == Counter(rows)


async def test_a_snapshot_brings_back_what_was_not_sent() -> None:
    async with KinesisDestination.opened() as destination:
        destination.script([], then=Fault.THROTTLED)
        sink = sink_for(destination, maxTimeInBuffer="1h")
        writer = sink.open()
        async with writer:
            await writer.write_many(ROWS)
            states = writer.snapshot_state()
            with pytest.warns(ResourceWarning):
                await writer.aclose()
        serializer = sink.writer_state_serializer
        assert serializer is not None
        kept = [serializer.deserialize(serializer.version, serializer.serialize(each)) for each in states]
        destination.script([])
        async with sink.open(states=kept):
            pass
        assert stored(destination.fake) == ROWS


async def test_a_hot_shard_is_throttled_and_nothing_is_lost() -> None:
    fake = KinesisFake(shards=ShardModel(4, 2_000, 1_000_000))
    rows = [KinesisEntry(str(number).encode(), "hot" if number % 2 else f"key-{number}") for number in range(4_000)]
    async with KinesisDestination.opened(fake) as destination:
        sink = sink_for(destination, maxBatchSize="500")
        async with sink.open(replace(sink.config, max_in_flight_requests=8)) as writer:
            await writer.write_many(rows)
    assert Counter(stored(fake)) == Counter(rows)


def test_a_sink_says_its_limits_where_they_are_given() -> None:
    values: dict[str, Any] = {"stream_name": "rows", "max_batch_size": 5}
    with pytest.raises(ValueError, match="option 'max_batch_size' is a limit of the writer, not of KinesisSink"):
        KinesisSink(**values)


@pytest.mark.parametrize(("options", "routed"), [({}, False), ({"per_shard_limits": True}, True)])
def test_records_have_routes_only_where_shards_matter(options: dict[str, Any], routed: bool) -> None:
    assert KinesisSink(stream_name="rows", **options).has_routes is routed
