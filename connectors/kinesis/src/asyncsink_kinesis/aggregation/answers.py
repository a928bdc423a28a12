"""What the answer to a request of frames says of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsink.failures import Failure, FailureKind
from asyncsink.request import RequestResult
from asyncsink_kinesis.aggregation.frame import Row
from asyncsink_kinesis.aggregation.packing import Frame
from asyncsink_kinesis.shards.hash_keys import hash_key
from asyncsink_kinesis.shards.shard_map import ShardMap

UNEXPECTED_SHARD = "UnexpectedShard"


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
    stored.

    :param result: what became of the frames, by index into `frames`
    :param landed: the shard of each frame, None where it was refused
    """
    failed: dict[int, Failure] = {}
    for index, failure in result.failed.items():
        failed |= dict.fromkeys(frames[index].rows, failure)
    await shards.learned({each for each in landed if each is not None})
    for frame, place in zip(frames, landed, strict=True):
        if place is not None and frame.shard is not None and place != frame.shard:
            failed |= dict.fromkeys(_misplaced(frame, place, entries, shards), _unexpected(frame.shard, place))
    return RequestResult(failed) if failed else RequestResult.OK


def _misplaced(frame: Frame, landed: str, entries: Sequence[Row], shards: ShardMap) -> list[int]:
    """The rows of a frame that are not of the shard in which it landed; all of them if its range is not known."""
    shard = shards.shard(landed)
    if shard is None:
        return list(frame.rows)
    return [index for index in frame.rows if not shard.holds(hash_key(*entries[index][1:]))]


def _unexpected(expected: str, landed: str) -> Failure:
    told = f"its frame was meant for {expected} and landed in {landed}, where consumers drop it"
    return Failure(UNEXPECTED_SHARD, told, FailureKind.RETRYABLE)
