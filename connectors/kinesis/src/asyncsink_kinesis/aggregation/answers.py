"""What the answer to a request of frames says of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsink.errors import RequestError
from asyncsink.failures import Failure, FailureKind
from asyncsink.request import RequestResult
from asyncsink_kinesis.aggregation.frame import Row
from asyncsink_kinesis.aggregation.packing import Frame
from asyncsink_kinesis.errors import UNEXPECTED_SHARD
from asyncsink_kinesis.shards.hash_keys import hash_key
from asyncsink_kinesis.shards.shard_map import ShardMap


async def settle(
    result: RequestResult,
    landed: Sequence[str | None],
    frames: Sequence[Frame],
    entries: Sequence[Row],
    shards: ShardMap,
) -> RequestResult:
    """The rows that are to be sent again, by index.

    A frame that was refused is the failure of each of its rows. A frame that landed in another shard than was expected
    has come in the middle of a resharding: Amazon's consumers drop the rows of it whose hash keys are not that shard's
    (KCL, ``AggregatorUtil.deaggregate``), so these have failed, as with the Kinesis Producer Library. The others are
    stored. The map is brought up to date for that: by an old one rows that are stored would go again.

    :param result: what became of the frames, by index into `frames`
    :param landed: the shard of each frame, None where it was refused
    :raises RequestError: a frame has landed in a shard that is not listed, so that nothing can be told of its rows
    """
    failed: dict[int, Failure] = {}
    for index, failure in result.failed.items():
        failed |= dict.fromkeys(frames[index].rows, failure)
    shards.learned(landed)
    strayed = [
        (frame, place)
        for frame, place in zip(frames, landed, strict=True)
        if place is not None and frame.shard is not None and place != frame.shard
    ]
    if not shards.knows(place for _, place in strayed):
        await shards.refresh()
    for frame, place in strayed:
        failed |= dict.fromkeys(_misplaced(frame, place, entries, shards), _unexpected(frame.shard, place))
    return RequestResult(failed) if failed else RequestResult.OK


def _misplaced(frame: Frame, landed: str, entries: Sequence[Row], shards: ShardMap) -> list[int]:
    """The rows of a frame that are not of the shard in which it landed."""
    shard = shards.shard(landed)
    if shard is None:
        raise RequestError(
            UNEXPECTED_SHARD,
            f"a record meant for {frame.shard} landed in {landed}, which ListShards does not tell of, so that nobody "
            "knows which of its rows consumers will drop",
        )
    return [index for index in frame.rows if not shard.holds(hash_key(*entries[index][1:]))]


def _unexpected(expected: str | None, landed: str) -> Failure:
    told = f"its frame was meant for {expected} and landed in {landed}, where consumers drop it"
    return Failure(UNEXPECTED_SHARD, told, FailureKind.RETRYABLE)
