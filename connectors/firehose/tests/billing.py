from __future__ import annotations

from asyncsink_firehose.limits import BILLED_STEP_BYTES


def billed_bytes(size: int) -> int:
    """What a record of `size` bytes is billed as."""
    return -(-size // BILLED_STEP_BYTES) * BILLED_STEP_BYTES
