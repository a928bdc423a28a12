"""The event loop's own clock, and its turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import anyio.lowlevel


def loop_clock() -> Callable[[], float]:
    """The running loop's clock, in seconds, bound once: ``anyio.current_time`` looks its backend up at every call,
    which took a microsecond of the ten that a request costs.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # another backend, such as trio under its autojump clock
        return anyio.current_time
    # What asyncio's own loop does there, without its method around it.
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time


def loop_pause() -> Callable[[], Awaitable[None]]:
    """What gives every other task of the running loop a turn, bound once for the same reason."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.lowlevel.checkpoint
    return partial(asyncio.sleep, 0)
