"""How the map notices that the stream was resharded."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import anyio
import pytest

from asyncsink.errors import RequestError
from asyncsink_kinesis.shards.shard_map import REFRESH_EVERY_S, REFRESH_TIMEOUT_S, ShardMap
from asyncsink_testing.virtual_time import virtual

from .streams import Listing, evenly

OLD, NEW = evenly(2), evenly(4, first=2)


def resharded(latency_s: float = 0.0) -> tuple[ShardMap, Listing]:
    """A map that knows two shards of a stream that has four by now."""
    listing = Listing(NEW, latency_s)
    return ShardMap(listing, OLD), listing


async def hear(shards: ShardMap, named: Iterable[str]) -> None:
    """An answer names these shards, and another request follows."""
    shards.learned(named)
    await shards.catch_up()


@virtual
async def test_an_answer_from_known_shards_asks_for_nothing() -> None:
    shards, listing = resharded()
    await hear(shards, {each.id for each in OLD})
    assert listing.asked == 0


@virtual
async def test_an_unknown_shard_in_an_answer_brings_the_map_up_to_date() -> None:
    shards, listing = resharded()
    before = shards.shard_of("a")
    await hear(shards, [OLD[0].id, NEW[3].id])
    assert listing.asked == 1
    assert list(shards.shards) == NEW
    assert shards.shard_of("a") in {each.id for each in NEW}
    assert shards.shard(before) is None


@virtual
async def test_many_answers_at_once_cause_one_refresh() -> None:
    shards, listing = resharded(latency_s=1.0)
    async with anyio.create_task_group() as group:
        for each in NEW * 5:
            group.start_soon(hear, shards, [each.id])
    assert listing.asked == 1


@virtual
async def test_who_needs_the_map_waits_for_a_refresh_that_is_under_way() -> None:
    shards, listing = resharded(latency_s=1.0)
    async with anyio.create_task_group() as group:
        group.start_soon(hear, shards, [NEW[0].id])
        await anyio.sleep(0.5)
        await shards.refresh()
        assert list(shards.shards) == NEW
    assert listing.asked == 1


@virtual
async def test_a_shard_that_stays_unknown_is_looked_for_no_more_than_every_ten_seconds() -> None:
    shards, listing = resharded()
    for _ in range(100):
        await hear(shards, ["shardId-000000000099"])
        await anyio.sleep(REFRESH_EVERY_S / 20)
    assert listing.asked == 5


def test_a_failing_refresh_keeps_the_map_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        shards, listing = resharded()
        listing.error = RequestError("LimitExceededException", "Rate exceeded")
        await hear(shards, [NEW[0].id])
        assert list(shards.shards) == OLD

        listing.error = None
        await anyio.sleep(REFRESH_EVERY_S)
        await hear(shards, [NEW[0].id])
        assert list(shards.shards) == NEW

    with caplog.at_level(logging.WARNING):
        virtual(main)()
    assert "Rate exceeded" in caplog.text


@virtual
async def test_a_listing_that_hangs_is_given_up() -> None:
    shards, listing = resharded(latency_s=3600.0)
    started_s = anyio.current_time()
    await hear(shards, [NEW[0].id])
    assert anyio.current_time() == pytest.approx(started_s + REFRESH_TIMEOUT_S)
    assert list(shards.shards) == OLD
    assert listing.asked == 1


@virtual
async def test_a_refresh_that_a_bug_ended_does_not_hold_up_the_next() -> None:
    shards, listing = resharded()
    listing.error = KeyError("Shards")
    with pytest.raises(KeyError):
        await shards.refresh()
    listing.error = None
    await anyio.sleep(REFRESH_EVERY_S)
    await shards.refresh()
    assert list(shards.shards) == NEW


@virtual
async def test_a_listing_with_a_hole_is_not_taken() -> None:
    shards, listing = resharded()
    listing.shards = NEW[1:]
    await shards.refresh()
    assert list(shards.shards) == OLD
