"""Tests whose waits cost nothing: trio with a clock that jumps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
import trio.testing


def virtual(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run an async test in virtual time."""

    def run() -> None:
        trio.run(test, clock=trio.testing.MockClock(autojump_threshold=0))

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    return run
