"""What a row costs in a frame, before it is known which rows share one."""

from __future__ import annotations

from asyncsink.config import MiB
from asyncsink_kinesis.aggregation.frame import FRAME_BYTES
from asyncsink_kinesis.entry import MAX_RECORDS, KinesisEntry, size_in_bytes

MAX_KEY_BYTES = 4 * 256
"""Bytes of the longest partition key, which a frame has beside its data."""
MAX_ROW_BYTES = 9 * MiB + MiB // 2
"""Bytes of the rows of a request: 500 frames add less than the half MiB up to the service's 10 MiB."""

SMALL = 16_000
"""Payloads below have lengths of at most two bytes, the record around them too."""
SMALL_TAGS, LARGE_TAGS, HASH_TAGS = 13, 17, 6


def row_size(data: int, key: int, explicit: int = 0) -> int:
    """The most bytes that a row adds to a frame: data, keys, and the tags, indices and lengths around them.

    A partition key is counted for each row, though a frame holds it once: how many rows share it is known only when
    the frame is made.

    :param data: bytes of the payload
    :param key: bytes of the partition key
    :param explicit: bytes of the explicit hash key, 0 without one
    """
    tags = SMALL_TAGS if data < SMALL else LARGE_TAGS
    return data + key + tags + (explicit + HASH_TAGS if explicit else 0)


def size_in_frame(entry: KinesisEntry, limit: int) -> int:
    """:func:`row_size` of an entry; as the service counts it where it is too large for a frame of `limit` bytes."""
    data, _, explicit = entry
    alone = size_in_bytes(entry)
    return alone if alone > limit else row_size(len(data), alone - len(data), len(explicit or ""))


def least_frame_bytes(max_batch_size_in_bytes: int) -> int:
    """The smallest limit of a frame with which no request needs more than 500.

    Two frames that follow one another hold more than one such limit together, or their rows were one frame.
    """
    return -(-max_batch_size_in_bytes * 2 // (MAX_RECORDS - 4)) + FRAME_BYTES
