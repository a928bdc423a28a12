"""What strategies tell their successors: a name and a whole number, as bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_HINT: Final = re.compile(rb"(?P<name>adaptive|congestion(?:-requests|-bytes)?|paced):(?P<value>\d{1,18})")


def hint(name: str, value: int) -> bytes:
    """A snapshot of one learned number."""
    return b"%s:%d" % (name.encode(), value)


def read_hint(snapshot: bytes) -> tuple[str, int] | None:
    """The name and the number of a snapshot; None if it is of no strategy of ours, which may hold anything."""
    match = _HINT.fullmatch(snapshot)
    return None if match is None else (match["name"].decode(), int(match["value"]))


def learned(name: str, snapshots: Sequence[bytes], ceiling: int) -> int | None:
    """The mean of what predecessors have learned under `name`, from 1 to `ceiling`; None if they say nothing of it."""
    hints = [read_hint(each) for each in snapshots if isinstance(each, bytes)]
    numbers = [each[1] for each in hints if each is not None and each[0] == name]
    return min(ceiling, max(1, sum(numbers) // len(numbers))) if numbers else None
