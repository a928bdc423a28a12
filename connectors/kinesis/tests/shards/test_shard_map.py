"""Which shard a record goes to."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from asyncsink_kinesis.shards.hash_keys import hash_key_of
from asyncsink_kinesis.shards.shard import Shard
from asyncsink_kinesis.shards.shard_map import ShardMap

from .streams import SPACE, Listing, evenly


def shard_map(*shards: Shard) -> ShardMap:
    return ShardMap(Listing(shards), shards)


def holder(shards: ShardMap, number: int) -> str:
    return next(each.id for each in shards.shards if each.start <= number <= each.end)


def unevenly(count: int, seed: int) -> list[Shard]:
    """Ranges with any bounds, some of which differ in their lowest bits alone."""
    random = Random(seed)
    bounds = {0, *(random.randrange(1, SPACE) for _ in range(count // 2))}
    bounds |= {bound + random.randrange(1, 300) for bound in bounds if bound}
    starts = sorted(bounds)
    return [
        Shard(f"shardId-{index:012}", start, end - 1)
        for index, (start, end) in enumerate(zip(starts, [*starts[1:], SPACE], strict=True))
    ]


@pytest.mark.parametrize("count", [1, 2, 7, 500])
def test_a_record_goes_to_the_shard_that_holds_its_hash(count: int) -> None:
    shards = shard_map(*unevenly(count, count))
    for key in map(str, range(300)):
        assert shards.shard_of(key) == holder(shards, int.from_bytes(hash_key_of(key), "big"))


def test_every_bound_of_a_range_belongs_to_its_shard() -> None:
    shards = shard_map(*unevenly(60, 1))
    for each in shards.shards:
        assert shards.shard_of("any", str(each.start)) == shards.shard_of("any", str(each.end)) == each.id


@pytest.mark.parametrize("as_arrow", [False, True])
def test_many_records_at_once_go_where_each_goes_alone(as_arrow: bool) -> None:
    shards, random = shard_map(*unevenly(90, 2)), Random(3)
    keys = [f"key-{random.randrange(40)}" for _ in range(500)]
    bounds = [str(bound) for each in shards.shards for bound in (each.start, each.end)]
    hashes = [random.choice([None, *random.sample(bounds, 3)]) for _ in keys]
    given = (pa.array(keys), pa.array(hashes, pa.string())) if as_arrow else (keys, hashes)

    ids, places = shards.shards_of(*given)

    assert [ids[place] for place in places] == [*map(shards.shard_of, keys, hashes)]
    ids, places = shards.shards_of(given[0])
    assert [ids[place] for place in places] == [*map(shards.shard_of, keys)]


def test_records_that_all_have_a_hash_key_go_by_it_alone() -> None:
    shards = shard_map(*evenly(4))
    starts = [str(each.start) for each in shards.shards]
    ids, places = shards.shards_of(["same"] * 4, starts)
    assert [ids[place] for place in places] == [each.id for each in shards.shards]


def test_a_slice_of_a_column_is_routed_as_the_rows_it_holds() -> None:
    shards = shard_map(*evenly(8))
    keys = [f"key-{number}" for number in range(20)]
    ids, places = shards.shards_of(pa.array(keys).slice(5, 7))
    assert [ids[place] for place in places] == [*map(shards.shard_of, keys[5:12])]


def test_no_records_have_no_shards() -> None:
    _, places = shard_map(*evenly(2)).shards_of([])
    assert len(places) == 0


def test_a_key_that_comes_often_is_hashed_once() -> None:
    hash_key_of.cache_clear()
    shard_map(*evenly(4)).shards_of(pa.array(["a", "b"] * 1000))
    assert hash_key_of.cache_info().misses == 2


def test_a_bad_hash_key_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'-5'"):
        shard_map(*evenly(2)).shards_of(["a"], ["-5"])


def test_a_stream_without_shards_has_no_map() -> None:
    with pytest.raises(ValueError, match="ACTIVE"):
        shard_map()


@pytest.mark.parametrize("missing", range(3))
def test_a_listing_with_a_hole_makes_no_map(missing: int) -> None:
    found = evenly(3)
    hole = found.pop(missing)
    with pytest.raises(ValueError, match=f"none holds the hash keys from {hole.start} to {hole.end}"):
        shard_map(*found)


def test_what_is_taken_from_a_map_does_not_change_with_it() -> None:
    shards = shard_map(*evenly(2))
    before = shards.now()
    shards._set(evenly(4, first=2))
    assert list(before.shards) == evenly(2)
    assert before.shard_of("a") in {each.id for each in evenly(2)}
