"""What the directed tests share: virtual time, a small configuration, and short names for what arrived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import anyio

from asyncsink import AsyncSinkWriterConfig, RateLimit, RetryPolicy
from asyncsink_testing import FakeDestination, FakeEntry, SentRequest
from asyncsink_testing.virtual_time import run_in_virtual_time


def small(**changes: Any) -> AsyncSinkWriterConfig:
    """Batches of 3, a buffer of 20, 5 s of age, 10 s for a request, one request at a time, a wide rate limit."""
    values: dict[str, Any] = {
        "max_batch_size": 3,
        "max_in_flight_requests": 1,
        "max_buffered_requests": 20,
        "max_batch_size_in_bytes": 1000,
        "max_buffered_size_in_bytes": 10_000,
        "max_time_in_buffer_s": 5.0,
        "max_record_size_in_bytes": 100,
        "request_timeout_s": 10.0,
        "rate_limit": RateLimit.aimd(initial=1000, ceiling=1000),
        "retry": RetryPolicy(initial_backoff_s=0.1, max_backoff_s=1.0, retry_after_cap_s=50.0),
    }
    return AsyncSinkWriterConfig(**(values | changes))


def run_on(backend: str, main: Callable[[], Awaitable[None]]) -> None:
    """Run on one of both event loops: trio in virtual time, asyncio in real time."""
    if backend == "trio":
        run_in_virtual_time(main)
    else:
        anyio.run(main, backend=backend)


def entries(first: int, last: int, size: int = 1, route: Hashable | None = None) -> list[FakeEntry]:
    """Entries with the names `first` to `last`."""
    return [FakeEntry(name, size, route) for name in range(first, last + 1)]


def names(request: SentRequest) -> list[Any]:
    return [entry.name for entry in request.entries]


def batches(destination: FakeDestination) -> list[list[Any]]:
    """The names of the entries of each arrival, in the order of their start."""
    return [names(request) for request in destination.requests]


def stored(destination: FakeDestination) -> list[Any]:
    return [entry.name for entry in destination.stored]


async def settled() -> None:
    """Let everything happen that can happen at this instant."""
    await anyio.wait_all_tasks_blocked()
