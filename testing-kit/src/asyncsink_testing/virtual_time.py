"""Tests in virtual time: trio with a clock that jumps."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import trio
import trio.testing


def run_in_virtual_time(main: Callable[[], Awaitable[None]]) -> None:
    """Run on trio with a clock that jumps to the next deadline when every task waits."""
    # Not by anyio.run: before 4.14 it drops the clock, and hours would take hours.
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def virtual(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in virtual time: waiting costs nothing and lasts exactly as long as it says.

    Its fixtures and parameters stay as they are, so that it goes below ``pytest.mark.parametrize``.
    """

    def run(**arguments: Any) -> None:
        async def main() -> None:
            await test(**arguments)

        run_in_virtual_time(main)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    run.__module__ = test.__module__
    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
    return run
