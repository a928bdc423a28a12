"""What strategies tell their successors: a name and a whole number, as bytes."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_DIGITS = 18


def hint(name: str, value: int) -> bytes:
    """A snapshot of one learned number."""
    return b"%s:%d" % (name.encode(), value)


def learned(name: str, snapshots: Sequence[bytes], ceiling: int) -> int | None:
    """The mean of what predecessors have learned under `name`, from 1 to `ceiling`; None if they say nothing of it."""
    start = f"{name}:".encode()
    digits = [each.removeprefix(start) for each in snapshots if isinstance(each, bytes) and each.startswith(start)]
    numbers = [int(each) for each in digits if each.isdigit() and len(each) <= _MOST_DIGITS]
    return min(ceiling, max(1, sum(numbers) // len(numbers))) if numbers else None
