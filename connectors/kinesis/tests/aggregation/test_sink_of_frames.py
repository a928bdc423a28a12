"""The sink with ``aggregation=kpl``, against a stream on the wire."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import (
    Column,
    ConfigurationError,
    OversizedEntryError,
    RetryPolicy,
    Schema,
    WriteContext,
    WriterInitContext,
)
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.aggregation.packing import Frame
from asyncsink_kinesis.shards.limits import AGGREGATED
from asyncsink_kinesis.shards.shard import Shard
from asyncsink_testing import Fault, Step
from asyncsink_testing.aws import KinesisDestination, KinesisFake, ShardModel

from .kcl import UserRecord, consumed, unpacked

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def sink_at(destination: KinesisDestination, **values: Any) -> KinesisSink:
    fake = destination.fake
    sink = KinesisSink(
        stream_name=fake.name,
        region=fake.region,
        endpoint=destination.endpoint,
        access_key_id="AKIDEXAMPLE",
        secret_access_key="secret",
        aggregation="kpl",
        **values,
    )
    sink.config = replace(sink.config, retry=RetryPolicy(initial_backoff_s=0.01, max_backoff_s=0.02))
    return sink


def some_entries(count: int, *, explicit: bool = False) -> list[KinesisEntry]:
    random = Random(count)
    return [
        KinesisEntry(
            f"{index} ".encode() + random.randbytes(90),
            f"key-{random.randrange(30)}",
            str(random.randrange(2**128)) if explicit and index % 2 else None,
        )
        for index in range(count)
    ]


def records(fake: KinesisFake) -> list[Frame]:
    return [Frame(each.data, each.partition_key, each.explicit_hash_key, (), each.shard_id) for each in fake.records]


def read(fake: KinesisFake) -> Counter[UserRecord]:
    """All that Amazon's de-aggregator reads from the stream."""
    return Counter(unpacked(records(fake)))


def handed_on(fake: KinesisFake) -> Counter[UserRecord]:
    """All that KCL hands on, shard by shard, those that are closed included."""
    found: Counter[UserRecord] = Counter()
    for each in fake.shards.shards.values():
        shard = Shard(each.id, each.first, each.last)
        found += Counter(consumed([frame for frame in records(fake) if frame.shard == each.id], shard))
    return found


def numbers_by_key(fake: KinesisFake) -> dict[str, list[int]]:
    """Of what KCL hands on, in the order in which it came to the stream."""
    found: dict[str, list[int]] = {}
    for frame in records(fake):
        held = fake.shards.shards[frame.shard or ""]
        for row in consumed([frame], Shard(held.id, held.first, held.last)):
            found.setdefault(row.partition_key, []).append(int(row.data.split()[0]))
    return found


def as_read(entries: list[KinesisEntry]) -> Counter[UserRecord]:
    return Counter(UserRecord(*each) for each in entries)


@pytest.mark.parametrize("explicit", [False, True])
async def test_every_row_is_read_back_from_few_records(explicit: bool) -> None:
    fake, written = KinesisFake(shards=ShardModel(3, None, None)), some_entries(5_000, explicit=explicit)
    async with KinesisDestination.opened(fake) as destination, sink_at(destination).open() as writer:
        await writer.write_many(written)
        await writer.flush(end_of_input=True)
        assert writer.statistics().acknowledged == 5_000
    assert read(fake) == as_read(written) == handed_on(fake)
    assert len(fake.records) < 40


async def test_a_row_that_goes_alone_may_be_as_large_as_a_record() -> None:
    largest = [KinesisEntry(b"x" * (2**20 - 10), "k" * 10), KinesisEntry(b"x" * (2**20 - 10), "k" * 10, "7")]
    async with KinesisDestination.opened() as destination, sink_at(destination).open() as writer:
        await writer.write_many(largest)
        await writer.flush(end_of_input=True)
        assert read(destination.fake) == as_read(largest)
        with pytest.raises(OversizedEntryError):
            await writer.write(KinesisEntry(b"x" * (2**20 - 9), "k" * 10))


async def test_a_frame_that_fails_fails_each_of_its_rows_and_no_other() -> None:
    fake, written = KinesisFake(), some_entries(2_000)
    async with KinesisDestination.opened(fake) as destination:
        destination.script([Step.partly(Fault.PARTLY_THROTTLED, 1), Step.partly(Fault.PARTLY_FAILED, 0)])
        async with sink_at(destination).open() as writer:
            await writer.write_many(written)
            await writer.flush(end_of_input=True)
            assert writer.statistics().retried_entries > 400
    assert read(fake) == as_read(written)


@pytest.mark.parametrize("change", ["split", "merge"])
async def test_no_consumer_misses_a_row_when_the_stream_is_resharded(change: str) -> None:
    fake, written = KinesisFake(shards=ShardModel(2, None, None)), some_entries(3_000)
    async with KinesisDestination.opened(fake) as destination, sink_at(destination).open() as writer:
        await writer.write_many(written[:1_000])
        first, second = (each.id for each in fake.shards.open_shards)
        if change == "split":
            fake.shards.split(first)
            fake.shards.split(second, at=3 * 2**126 + 12_345)
        else:
            fake.shards.merge(first, second)
        await writer.write_many(written[1_000:])
    assert set(handed_on(fake)) == set(as_read(written))


async def test_the_order_of_keys_outlasts_a_split() -> None:
    fake, written = KinesisFake(shards=ShardModel(2, None, None)), some_entries(3_000)
    async with KinesisDestination.opened(fake) as destination:
        sink = sink_at(destination)
        async with sink.open(replace(sink.config, ordering="key", max_time_in_buffer_s=0.002)) as writer:
            await writer.write_many(written[:1_500])
            fake.shards.split(fake.shards.open_shards[0].id)
            for start in range(1_500, 3_000, 30):
                await writer.write_many(written[start : start + 30])
                await anyio.sleep(0.005)
    for key, numbers in numbers_by_key(fake).items():
        first = list(dict.fromkeys(numbers))
        assert first == sorted(first), key
    assert set(handed_on(fake)) == set(as_read(written))


def test_limits_count_rows() -> None:
    config = KinesisSink(stream_name="rows", aggregation="kpl").config
    assert config.rate_limit == AGGREGATED
    assert config.max_batch_size == 10_000
    assert config.max_buffered_requests == 100_000


def test_a_request_of_more_rows_than_records_is_legal_with_it_alone() -> None:
    options = {"streamName": "rows", "maxBatchSize": "5000"}
    assert KinesisSink.from_options({**options, "aggregation": "kpl"}).config.max_batch_size == 5_000
    with pytest.raises(ConfigurationError, match="maxBatchSize"):
        KinesisSink.from_options(options)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"aggregationMaxSize": "1000"}, "'aggregationMaxSize' = 1000 would make more than 500 records.*raise the"),
        ({"aggregationMaxSize": "2mb"}, "'aggregationMaxSize' = 2097152 exceeds.*maxRecordSizeInBytes"),
        ({"aggregationMaxSize": "1mb"}, "up to 1024 bytes of its partition key; lower the former to 1047552"),
        ({"maxBatchSizeInBytes": "10mb"}, "maxBatchSizeInBytes.*is more than Kinesis takes, 9961472 bytes"),
        ({"strictOrdering": "true"}, "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused_with_its_remedy(given: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        KinesisSink.from_options({"streamName": "rows", "aggregation": "kpl", **given})


def test_the_rows_of_a_batch_are_measured_as_their_entries() -> None:
    sink = KinesisSink(stream_name="rows", aggregation="kpl")
    sizes = [0, 1, 127, 128, 15_999, 16_000, 51_199, 51_200, 70_000]
    columns = {
        "data": pa.array([b"x" * size for size in sizes], pa.binary()),
        "partitionKey": ["a", "ключ", "b", "c", "d", "e", "f", "g", "h"],
        "explicitHashKey": pa.array([None, "0", "12", None, None, "5", "6", "7", None], pa.string()),
    }
    schema = Schema(tuple(Column(name, "binary" if name == "data" else "string") for name in columns))
    made = sink.converter(schema)
    made.open(WriterInitContext())
    block = made.apply_batch(pa.RecordBatch.from_pydict(columns), WriteContext())
    measured = [block.size_in_bytes(index, index + 1) for index in range(len(block))]
    assert measured == list(sink.sizes(list(block))) == [*map(sink.size_in_bytes, block)]
