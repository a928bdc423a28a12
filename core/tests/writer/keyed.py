"""What the tests of order share: entries with keys, sinks that know them, and what order means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, NamedTuple

from asyncsink import AsyncSinkWriterConfig
from asyncsink_testing import FakeDestination, FakeSink

from .harness import small


class KeyedEntry(NamedTuple):
    """An entry with a key; its names are numbers that grow."""

    name: int
    key: Hashable | None = None
    size: int = 1
    route: Hashable | None = None


class KeyedSink(FakeSink):
    """Stores entries one by one, so that some of a request may fail."""

    def key_of(self, entry: Any) -> Hashable | None:
        key: Hashable | None = entry.key
        return key

    def size_in_bytes(self, entry: Any) -> int:
        size: int = entry.size
        return size

    def route_of(self, entry: Any) -> Hashable | None:
        route: Hashable | None = entry.route
        return route


class AtomicSink(KeyedSink):
    """Stores a request whole or not at all."""

    atomic_requests = True


def keyed(**changes: Any) -> AsyncSinkWriterConfig:
    """Like :func:`~.harness.small`, with the order of keys and three requests at a time."""
    return small(**{"ordering": "key", "max_in_flight_requests": 3} | changes)


def of(keys: str, first: int = 1, route: Hashable | None = None) -> list[KeyedEntry]:
    """An entry for each letter, which is its key; a dot has none."""
    return [KeyedEntry(name, None if key == "." else key, 1, route) for name, key in enumerate(keys, first)]


def said(destination: FakeDestination) -> list[str]:
    """Each arrival as text, such as ``a1 b2``."""
    return [" ".join(f"{each.key or '.'}{each.name}" for each in request.entries) for request in destination.requests]


def check_order(destination: FakeDestination, atomic: bool = False) -> None:
    """No key has two requests under way at once, and each key is first stored in the order of its names."""
    requests = destination.requests
    for request in requests:
        counts = Counter(entry.key for entry in request.entries if entry.key is not None)
        assert atomic or max(counts.values(), default=1) == 1, f"{request} holds two entries of a key"
        for other in requests[: request.number]:
            if other.ended_s is None or other.ended_s > request.started_s:
                keys = {(other.route, entry.key) for entry in other.entries}
                shared = keys & {(request.route, entry.key) for entry in request.entries} - {(request.route, None)}
                assert not shared, f"{shared} was under way twice"
    last: dict[Hashable, int] = {}
    for entry in dict.fromkeys(destination.stored):
        if entry.key is not None:
            assert last.get((entry.route, entry.key), -1) < entry.name, (
                f"{entry} was stored after {last[entry.route, entry.key]}"
            )
            last[entry.route, entry.key] = entry.name
