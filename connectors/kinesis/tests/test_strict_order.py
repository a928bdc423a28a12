"""``ordering=strict``: one record after the other for each key."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from asyncsink import ConfigurationError
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.strict_order import SequenceNumbers
from asyncsink_testing import Fault
from asyncsink_testing.aws import KinesisDestination, KinesisFake, ShardModel

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def sink_at(destination: KinesisDestination, **values: str) -> KinesisSink:
    fake = destination.fake
    options = {
        "streamName": fake.name,
        "region": fake.region,
        "endpoint": destination.endpoint,
        "accessKeyId": "AKIDEXAMPLE",
        "secretAccessKey": "secret",
        "ordering": "strict",
        "retry.initialBackoff": "10ms",
        "retry.maxBackoff": "20ms",
        **values,
    }
    return KinesisSink.from_options(options)


ROWS = [KinesisEntry(f"{index}".encode(), f"key-{index % 5}") for index in range(60)]


def of_keys(records: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for each in records:
        found[each.partition_key].append(each)
    return found


async def test_each_record_is_bound_to_the_one_before_it_of_its_key() -> None:
    fake = KinesisFake(shards=ShardModel(3, None, None))
    async with KinesisDestination.opened(fake) as destination, sink_at(destination).open() as writer:
        await writer.write_many(ROWS)
    for records in of_keys(fake.records).values():
        numbers = [each.sequence_number for each in records]
        assert [each.after for each in records] == [None, *numbers[:-1]]
    assert len(fake.records) == 60


async def test_the_order_of_a_key_is_kept_through_failures() -> None:
    fake = KinesisFake()
    async with KinesisDestination.opened(fake) as destination:
        destination.script([Fault.OK, Fault.THROTTLED, Fault.OK, Fault.REFUSED, Fault.ANSWER_LOST] * 6)
        async with sink_at(destination).open() as writer:
            await writer.write_many(ROWS)
    written = of_keys(ROWS)
    for key, records in of_keys(fake.records).items():
        # A record whose answer is lost stands twice; none stands before one that was written earlier.
        kept = [each.data for index, each in enumerate(records) if each.data not in {r.data for r in records[:index]}]
        assert kept == [each.data for each in written[key]]
        assert [int(each.data) for each in records] == sorted(int(each.data) for each in records)


async def test_a_number_of_another_stream_is_given_up() -> None:
    async with KinesisDestination.opened() as destination:
        async with sink_at(destination).open() as writer:
            await writer.write_many(ROWS[:5])
            await writer.flush(end_of_input=True)
            destination.fake.shards.sequence = 0  # the stream was deleted and made anew
            destination.fake.records.clear()
            await writer.write_many(ROWS[5:])
        assert sorted(int(each.data) for each in destination.fake.records) == [*range(5, 60)]


async def test_it_limits_each_shard_by_itself_too_if_asked() -> None:
    fake = KinesisFake(shards=ShardModel(2, None, None))
    async with KinesisDestination.opened(fake) as destination:
        async with sink_at(destination, perShardLimits="true").open() as writer:
            await writer.write_many(ROWS[:20])
            fake.shards.split(fake.shards.open_shards[0].id)
            await writer.write_many(ROWS[20:])
    written = of_keys(ROWS)
    assert {key: [each.data for each in records] for key, records in of_keys(fake.records).items()} == {
        key: [each.data for each in rows] for key, rows in written.items()
    }


def test_requests_hold_one_record_and_keep_the_order_of_keys() -> None:
    config = KinesisSink(stream_name="rows", strict_ordering=True).config
    assert (config.max_batch_size, config.ordering) == (1, "key")
    assert KinesisSink.from_options({"streamName": "rows", "ordering": "strict"}).config == config


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"maxBatchSize": "2"}, "maxBatchSize.* = 2 contradicts ordering=strict"),
        ({"strictOrdering": "true", "ordering": "none"}, "ordering = 'none' contradicts strictOrdering"),
        ({"strictOrdering": "false"}, "'strictOrdering' = 'false' contradicts 'ordering' = 'strict'; drop one"),
        ({"strict_ordering": "False"}, "'strict_ordering' = 'False' contradicts"),
    ],
)
def test_what_contradicts_it_is_refused(given: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        KinesisSink.from_options({"streamName": "rows", "ordering": "strict", **given})


def test_a_late_answer_does_not_set_a_number_back() -> None:
    numbers = SequenceNumbers()
    numbers.learn("a", "100")
    numbers.learn("a", "99")
    assert numbers.last("a") == "100"


def test_only_so_many_keys_are_remembered_those_used_last() -> None:
    numbers = SequenceNumbers(most=2)
    for key in ("a", "b", "a", "c"):
        numbers.learn(key, "1")
    assert len(numbers) == 2
    assert [numbers.last(key) for key in "abc"] == ["1", None, "1"]
