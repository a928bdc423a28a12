"""The model of a stream's shards: who has which keys, what they take, and how they change."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from asyncsink_testing.aws import KinesisFake, ShardModel, hash_key_of
from asyncsink_testing.aws.shards import HASH_KEYS
from asyncsink_testing.http_server import serving

from .clients import client, put, refusal_of

LAST = HASH_KEYS - 1


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_shards_have_every_hash_key_once(count: int) -> None:
    shards = ShardModel(count).open_shards
    assert (shards[0].first, shards[-1].last) == (0, LAST)
    assert all(low.last + 1 == high.first for low, high in pairwise(shards))


def test_a_key_s_hash_is_its_md5_unless_it_brings_another() -> None:
    assert hash_key_of("key") == int("3c6e0b8a9c15224a8228b9a98ca1531d", 16)
    assert hash_key_of("key", "17") == 17


def test_a_shard_takes_so_many_records_a_second_and_the_others_take_theirs() -> None:
    clock = Clock()
    model = ShardModel(2, records_per_s=1000, bytes_per_s=None, clock=clock)
    assert sum(model.take(0, 1) for _ in range(1500)) == 1000
    assert sum(model.take(LAST, 1) for _ in range(1500)) == 1000
    clock.now_s = 0.25
    assert sum(model.take(0, 1) for _ in range(1500)) == 250
    clock.now_s = 60.0
    assert sum(model.take(0, 1) for _ in range(1500)) == 1000


def test_a_shard_takes_so_many_bytes_a_second() -> None:
    clock = Clock()
    model = ShardModel(1, records_per_s=None, bytes_per_s=1_000_000, clock=clock)
    assert [model.take(0, 400_000) for _ in range(3)] == [True, True, False]
    assert model.take(0, 200_000)
    clock.now_s = 0.4
    assert [model.take(0, 400_000) for _ in range(2)] == [True, False]


def test_a_large_record_bursts_and_is_paid_for_afterwards() -> None:
    clock = Clock()
    model = ShardModel(1, records_per_s=None, bytes_per_s=1_000_000, clock=clock)
    assert model.take(0, 3_000_000)
    clock.now_s = 2.0
    assert not model.take(0, 1)
    clock.now_s = 2.1
    assert model.take(0, 1)


def test_a_shard_that_is_split_is_closed_and_two_have_its_keys() -> None:
    model = ShardModel(2)
    low, high = model.split("shardId-000000000000")
    assert [each.id[-1] for each in model.open_shards] == ["1", "2", "3"]
    assert (low.first, high.last) == (0, HASH_KEYS // 2 - 1)
    assert model.shard_of(low.last) is low
    assert model.shard_of(high.first) is high
    with pytest.raises(ValueError, match="shard shardId-000000000000 is not open"):
        model.split("shardId-000000000000")
    with pytest.raises(ValueError, match="cannot be split at 0"):
        model.split(low.id, 0)


def test_neighbours_are_merged_and_others_are_not() -> None:
    model = ShardModel(3)
    first, second, third = (each.id for each in model.open_shards)
    with pytest.raises(ValueError, match="are no neighbours"):
        model.merge(first, third)
    merged = model.merge(second, first)
    assert merged.parents == (second, first)
    assert [each.id for each in model.open_shards] == [third, merged.id]
    assert model.shard_of(0) is merged


def test_list_shards_tells_parents_ranges_and_what_is_closed_page_by_page() -> None:
    fake = KinesisFake(shards=ShardModel(2))
    with serving(fake.react) as server:
        sender = client("kinesis", server.url)
        before = put(sender, b"x")["Records"][0]["SequenceNumber"]
        fake.shards.split("shardId-000000000000")
        first = sender.list_shards(StreamName="rows", MaxResults=3)
        token = first["NextToken"]
        # As boto3's own paginator asks, to which the service answers the same.
        refused = refusal_of(lambda: sender.list_shards(StreamName="rows", NextToken=token))
        pages = [first, sender.list_shards(NextToken=token)]
        latest = sender.list_shards(StreamName="rows", ShardFilter={"Type": "AT_LATEST"})["Shards"]
    assert refused == ("InvalidArgumentException", "NextToken and StreamName cannot be provided together.")
    assert [len(page["Shards"]) for page in pages] == [3, 1]
    told: list[dict[str, Any]] = [each for page in pages for each in page["Shards"]]
    closed, *opened = told
    assert closed["SequenceNumberRange"]["EndingSequenceNumber"] > before
    assert all("EndingSequenceNumber" not in each["SequenceNumberRange"] for each in opened)
    assert [each.get("ParentShardId") for each in told] == [None, None, closed["ShardId"], closed["ShardId"]]
    assert told[1]["HashKeyRange"] == {"StartingHashKey": str(HASH_KEYS // 2), "EndingHashKey": str(LAST)}
    assert latest == opened


def test_records_go_to_the_shards_that_are_open_when_they_come() -> None:
    fake = KinesisFake(shards=ShardModel(1))
    with serving(fake.react) as server:
        sender = client("kinesis", server.url)
        told = [put(sender, b"x", ExplicitHashKey="0")]
        fake.shards.split("shardId-000000000000")
        told.append(put(sender, b"x", ExplicitHashKey="0"))
        fake.shards.merge("shardId-000000000001", "shardId-000000000002")
        told.append(put(sender, b"x", ExplicitHashKey="0"))
    assert [each["Records"][0]["ShardId"][-1] for each in told] == ["0", "1", "3"]
