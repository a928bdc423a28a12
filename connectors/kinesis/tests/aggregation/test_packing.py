"""The rows of a request as few records."""

from __future__ import annotations

from random import Random

import pytest

from asyncsink_kinesis.aggregation.frame import Row
from asyncsink_kinesis.aggregation.packing import Frame, pack
from asyncsink_kinesis.aggregation.sizes import MAX_KEY_BYTES, MAX_ROW_BYTES, least_frame_bytes, size_in_frame
from asyncsink_kinesis.entry import MAX_RECORDS, MAX_REQUEST_BYTES, KinesisEntry
from asyncsink_kinesis.options import AGGREGATED_BYTES
from asyncsink_kinesis.shards.hash_keys import explicit_hash_key
from asyncsink_kinesis.shards.shard_map import ShardMap

from .kcl import consumed, unpacked
from .streams import evenly, listing


def shard_map(count: int) -> ShardMap:
    return ShardMap(listing([]), evenly(count))


def some_rows(count: int, *, keys: int = 40, size: int = 100, explicit: bool = False) -> list[KinesisEntry]:
    random = Random(count)
    return [
        KinesisEntry(
            f"{index} ".encode() + random.randbytes(size),
            f"key-{random.randrange(keys)}",
            str(random.randrange(2**128)) if explicit else None,
        )
        for index in range(count)
    ]


def in_order(rows: list[KinesisEntry], frames: list[Frame]) -> list[Row]:
    """The rows in the order in which the frames hold them."""
    return [rows[index] for frame in frames for index in frame.rows]


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("shards", [1, 3, 50])
def test_every_row_is_read_back_as_it_was(shards: int, explicit: bool) -> None:
    rows = some_rows(2000, explicit=explicit)
    frames = pack(rows, shard_map(shards))
    assert sorted(index for frame in frames for index in frame.rows) == [*range(2000)]
    assert [tuple(each) for each in unpacked(frames)] == in_order(rows, frames)


def test_a_frame_goes_to_the_beginning_of_its_shard() -> None:
    shards = shard_map(5)
    for frame in pack(some_rows(400), shards):
        (shard,) = (each for each in shards.shards if each.id == frame.shard)
        assert frame.explicit_hash_key == str(shard.start)
        assert shard.holds(explicit_hash_key(frame.explicit_hash_key))


def test_consumers_of_a_shard_keep_every_row_of_its_frames() -> None:
    rows, shards = some_rows(1000), shard_map(6)
    frames = pack(rows, shards)
    read = [each for shard in shards.shards for each in consumed((f for f in frames if f.shard == shard.id), shard)]
    assert len(read) == len(rows)


def test_a_frame_has_the_partition_key_of_its_first_row() -> None:
    rows = some_rows(100)
    for frame in pack(rows, shard_map(2)):
        assert frame.partition_key == rows[frame.rows[0]].partition_key


def test_no_frame_is_larger_than_the_limit_and_all_but_the_last_are_nearly_full() -> None:
    frames = pack(some_rows(5000), shard_map(1))
    sizes = [len(each.data) for each in frames]
    assert max(sizes) <= AGGREGATED_BYTES
    assert min(sizes[:-1]) > AGGREGATED_BYTES - 200


def test_a_row_that_is_alone_stays_an_ordinary_record() -> None:
    entry = KinesisEntry(b"one", "a", "7")
    assert pack([entry], shard_map(3)) == [Frame(b"one", "a", "7", [0], None)]


def test_a_row_that_fits_no_frame_is_an_ordinary_record_between_frames() -> None:
    rows = [KinesisEntry(b"s" * 10, "a")] * 3 + [KinesisEntry(b"l" * 5000, "a")] + [KinesisEntry(b"s" * 10, "a")] * 3
    frames = pack(rows, shard_map(1), max_bytes=1000)
    assert [list(each.rows) for each in frames] == [[0, 1, 2], [3], [4, 5, 6]]
    assert frames[1].data == rows[3].data
    assert frames[1].shard is None


def test_rows_with_and_without_a_hash_key_share_no_frame() -> None:
    # Amazon's reader for Python gives a row without an index the first hash key of the table.
    rows = [KinesisEntry(str(index).encode(), "a", "5" if index % 2 else None) for index in range(10)]
    frames = pack(rows, shard_map(1))
    assert [each.explicit_hash_key for each in unpacked(frames)] == [None] * 5 + ["5"] * 5


def test_rows_of_a_known_route_are_not_looked_up_again() -> None:
    shards = shard_map(4)
    route = shards.shards[2].id
    (frame,) = pack(some_rows(50), shards, route=route)
    assert frame.shard == route


def test_rows_of_a_shard_that_is_closed_go_to_those_that_are_open() -> None:
    rows, shards = some_rows(500), shard_map(4)
    frames = pack(rows, shards, route="shardId-000000000099")
    assert {each.shard for each in frames} == {each.id for each in shards.shards}
    for frame in frames:
        assert {shards.shard_of(rows[index].partition_key) for index in frame.rows} == {frame.shard}


LEAST = least_frame_bytes(MAX_ROW_BYTES)


@pytest.mark.parametrize("key", ["a", "ж" * (MAX_KEY_BYTES // 4)], ids=["short key", "longest key"])
@pytest.mark.parametrize("size", [10, 1000, LEAST // 2 - 1100, LEAST // 2 - 20, LEAST // 2, LEAST // 2 + 1, LEAST])
def test_a_full_request_needs_no_more_than_500_records_and_10_mib(size: int, key: str) -> None:
    row = KinesisEntry(b"x" * size, key)
    count = MAX_ROW_BYTES // size_in_frame(row, LEAST)
    frames = pack([row] * count, shard_map(1), max_bytes=LEAST)
    assert len(frames) <= MAX_RECORDS
    assert sum(len(each.data) + len(each.partition_key.encode()) for each in frames) <= MAX_REQUEST_BYTES


def test_the_smallest_frames_that_are_allowed_make_nearly_500_records() -> None:
    row = KinesisEntry(b"x" * (LEAST // 2), "a")
    count = MAX_ROW_BYTES // size_in_frame(row, LEAST)
    assert len(pack([row] * count, shard_map(1), max_bytes=LEAST)) > MAX_RECORDS - 10
