"""What the answer to a request of frames means for its rows."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from asyncsink.errors import RequestError
from asyncsink.failures import Failure, FailureKind
from asyncsink.request import RequestResult
from asyncsink_kinesis.aggregation.answers import settle
from asyncsink_kinesis.aggregation.packing import pack
from asyncsink_kinesis.entry import KinesisEntry
from asyncsink_kinesis.errors import ERRORS, UNEXPECTED_SHARD
from asyncsink_kinesis.shards.hash_keys import hash_key_of
from asyncsink_kinesis.shards.shard import Shard
from asyncsink_kinesis.shards.shard_map import ShardMap

from .kcl import consumed
from .streams import evenly, listing

pytestmark = pytest.mark.anyio

ROWS = [KinesisEntry(f"row {index}".encode(), f"key-{index}") for index in range(60)]
PARENT, CHILDREN = evenly(1), evenly(2, first=1)


async def test_frames_that_are_stored_where_they_belong_fail_nothing() -> None:
    shards = ShardMap(listing(PARENT), PARENT)
    frames = pack(ROWS, shards, max_bytes=300)
    places = [PARENT[0].id] * len(frames)
    assert await settle(RequestResult.OK, places, frames, ROWS, shards) is RequestResult.OK


async def test_a_frame_that_is_refused_fails_each_of_its_rows() -> None:
    shards = ShardMap(listing(PARENT), PARENT)
    frames = pack(ROWS, shards, max_bytes=300)
    throttle = Failure("ProvisionedThroughputExceededException", "Rate exceeded for shard")
    refused = RequestResult({1: throttle})

    result = await settle(refused, [PARENT[0].id, None, *[PARENT[0].id] * (len(frames) - 2)], frames, ROWS, shards)

    assert result.failed == dict.fromkeys(frames[1].rows, throttle)


async def test_rows_that_consumers_would_drop_after_a_split_are_sent_again() -> None:
    shards = ShardMap(listing(CHILDREN), PARENT)
    frames = pack(ROWS, shards)
    landed = CHILDREN[0]  # it holds the parent's first hash key

    result = await settle(RequestResult.OK, [landed.id], frames, ROWS, shards)

    assert {each.code for each in result.failed.values()} == {UNEXPECTED_SHARD}
    assert {each.kind for each in result.failed.values()} == {FailureKind.RETRYABLE}
    kept = {each.data for each in consumed(frames, landed)}
    assert kept
    assert kept == {ROWS[index].data for index in range(60) if index not in result.failed}
    again = [ROWS[index] for index in sorted(result.failed)]
    frames = pack(again, shards, route=PARENT[0].id)
    assert {each.shard for each in frames} == {CHILDREN[1].id}
    assert len(consumed(frames, CHILDREN[1])) == len(again)


async def test_after_a_merge_no_row_is_lost_or_sent_again() -> None:
    shards = ShardMap(listing(PARENT), CHILDREN)
    frames = pack(ROWS, shards)
    result = await settle(RequestResult.OK, [PARENT[0].id] * len(frames), frames, ROWS, shards)
    assert result is RequestResult.OK
    assert len(consumed(frames, PARENT[0])) == len(ROWS)


async def test_answers_that_come_during_a_refresh_wait_for_it() -> None:
    asked = 0

    async def list_open() -> Sequence[Shard]:
        nonlocal asked
        asked += 1
        await anyio.sleep(0.05)
        return CHILDREN

    shards = ShardMap(list_open, PARENT)
    frames = pack(ROWS, shards)
    misplaced = {index for index, row in enumerate(ROWS) if not CHILDREN[0].holds(hash_key_of(row.partition_key))}
    failed: list[set[int]] = []

    async def answer() -> None:
        failed.append(set((await settle(RequestResult.OK, [CHILDREN[0].id], frames, ROWS, shards)).failed))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(answer)
    assert failed == [misplaced] * 4
    assert asked == 1


async def test_a_request_that_landed_in_a_shard_that_cannot_be_found_goes_again_as_a_whole() -> None:
    shards = ShardMap(listing(PARENT), PARENT)
    frames = pack(ROWS, shards)
    with pytest.raises(RequestError, match=r"landed in shardId-000000000007, which ListShards") as caught:
        await settle(RequestResult.OK, ["shardId-000000000007"], frames, ROWS, shards)
    # Its rows have no attempt counted for it, and it is bounded by retry.timeout.
    assert ERRORS.kind_of(caught.value.code) is FailureKind.RETRYABLE


async def test_a_row_that_went_alone_belongs_wherever_it_landed() -> None:
    shards = ShardMap(listing(CHILDREN), PARENT)
    frames = pack(ROWS[:1], shards)
    assert await settle(RequestResult.OK, [CHILDREN[1].id], frames, ROWS, shards) is RequestResult.OK
