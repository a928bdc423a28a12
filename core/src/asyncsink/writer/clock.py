"""The event loop's own clock, and its own way to wake a task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from typing import Any, Protocol

import anyio


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


class Wake(Protocol):
    """What one task waits for and another sets, once: as much of an asyncio future as both need."""

    def __await__(self) -> Generator[Any, None, Any]: ...
    def done(self) -> bool: ...
    def set_result(self, result: None, /) -> None: ...


def loop_wake() -> Callable[[], Wake]:
    """What makes a wake of the running loop, bound once: a future costs a third of an ``anyio.Event``."""
    try:
        return asyncio.get_running_loop().create_future
    except RuntimeError:
        return _EventWake


class _EventWake:
    """A wake on another backend."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._event.wait().__await__()

    def done(self) -> bool:
        return self._event.is_set()

    def set_result(self, result: None, /) -> None:
        self._event.set()
