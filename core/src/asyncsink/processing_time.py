"""Timers on a writer's event loop (FLIP-143's ProcessingTimeService)."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from time import time as wall_clock_s
from typing import Final, Protocol

import anyio

from asyncsink.task_groups import cancelled_at_the_end

Callback = Callable[[int], Awaitable[None]]
"""Called with the time for which it was registered, in ms since the epoch."""

_CLOSE_TO_S: Final = 0.0005


class ProcessingTimeService(Protocol):
    """Tells the time and calls back at times, on the writer's loop; for writers and their converters.

    Callbacks are awaited one after the other, in the order of their times and then of their registration, in a task of
    their own: never within a converter, and never within a request. While a call of the writer waits they may run.
    What one raises ends the writer, like a fatal error. Timers are gone with the writer, also those that are not due.
    """

    def current_processing_time(self) -> int:
        """The time in ms since the epoch; it never goes backwards."""

    def register_processing_timer(self, time: int, callback: Callback) -> None:
        """Call `callback` once when it is `time`, in ms since the epoch; at once if that has passed.

        :raises TypeError: `time` is no integer
        """


class ProcessingTimers:
    """The :class:`ProcessingTimeService` of a writer; it calls back while :meth:`running` is entered.

    An :class:`~asyncsink.AsyncSinkWriter` runs those of its context itself. Who runs writers of another kind enters
    :meth:`running` around them.
    """

    def __init__(self) -> None:
        self._timers: list[tuple[int, int, Callback]] = []
        self._last_number = 0
        self._claimed = False
        self._changed: anyio.Event | None = None
        self._anchor: tuple[float, float] | None = None

    def claim(self) -> bool:
        """Whether the caller is the one who is to :meth:`run` them: the first who asks."""
        is_first, self._claimed = not self._claimed, True
        return is_first

    def current_processing_time(self) -> int:
        """The time in ms since the epoch."""
        return math.floor(self._now_s() * 1000)

    def register_processing_timer(self, time: int, callback: Callback) -> None:
        """Call `callback` once when it is `time`."""
        if not isinstance(time, int) or isinstance(time, bool):
            raise TypeError(f"a timer was registered for {time!r}; give it ms since the epoch, as an int")
        self._last_number += 1
        heappush(self._timers, (time, self._last_number, callback))
        if self._changed is not None:
            self._changed.set()

    async def run(self) -> None:
        """Call back until this is cancelled, or a callback raises."""
        self._changed = anyio.Event()
        while True:
            await self._call_due()
            with anyio.move_on_after(self._remaining_s()):
                await self._changed.wait()
            self._changed = anyio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Call back for as long as the block lasts, unless somebody does already.

        Where a callback raises, the block is cancelled, and this raises what the callback has raised.
        """
        if not self.claim():
            yield
            return
        failure: Exception | None = None

        async def run() -> None:
            nonlocal failure
            try:
                await self.run()
            except Exception as error:
                failure = error
                scope.cancel()

        with anyio.CancelScope() as scope:
            async with cancelled_at_the_end() as group:
                group.start_soon(run)
                yield
        if failure is not None:
            raise failure

    async def _call_due(self) -> None:
        while self._timers and self._remaining_s() <= 0:
            time, _, callback = heappop(self._timers)
            await callback(time)

    def _remaining_s(self) -> float:
        if not self._timers:
            return math.inf
        remaining_s = self._timers[0][0] / 1000 - self._now_s()
        return 0.0 if remaining_s < _CLOSE_TO_S else remaining_s

    def _now_s(self) -> float:
        """By the loop's clock, so that it never goes backwards, and stands still where a test lets it."""
        if self._anchor is None:
            self._anchor = wall_clock_s(), anyio.current_time()
        wall_s, started_s = self._anchor
        return wall_s + anyio.current_time() - started_s
