"""The event loop's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio


def loop_clock() -> Callable[[], float]:
    """The running loop's clock, in seconds, bound once: ``anyio.current_time`` looks its backend up at every call,
    which took a microsecond of the ten that a request costs.
    """
    try:
        return asyncio.get_running_loop().time
    except RuntimeError:  # another backend, such as trio under its autojump clock
        return anyio.current_time
