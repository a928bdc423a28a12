"""What has gone through the proxy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import anyio


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Counts at one moment.

    :param connections: connections accepted so far, refused ones too
    :param refused: of these, those that were reset at once
    :param open: connections of which at least one side is open now
    :param bytes_to_upstream: bytes passed on to the upstream, whether or not it was still there
    :param bytes_to_client: bytes passed on to clients, likewise
    :param held_bytes: bytes that were accepted, in either direction, and wait now
    """

    connections: int = 0
    refused: int = 0
    open: int = 0
    bytes_to_upstream: int = 0
    bytes_to_client: int = 0
    held_bytes: int = 0


class TrafficMeter:
    """Counts, and wakes those who wait for a count. :attr:`now` may be read from any thread."""

    def __init__(self) -> None:
        self.now = Traffic()
        self._changed: anyio.Event

    def start(self) -> None:
        """Enter the event loop."""
        self._changed = anyio.Event()

    def add(self, **changes: int) -> None:
        """Add to the counts of these names."""
        counts = {each.name: getattr(self.now, each.name) for each in fields(Traffic)}
        self.now = Traffic(**{name: count + changes.get(name, 0) for name, count in counts.items()})
        self.tell_waiting()

    def tell_waiting(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_until(self, reached: Callable[[], bool]) -> None:
        """Return when `reached` is true; it is asked after each change."""
        while not reached():
            await self._changed.wait()
