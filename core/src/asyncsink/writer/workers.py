"""Long-lived tasks that send requests: a task per request would cost three to four times as much."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from asyncsink.writer.request import InFlightRequest

Submit = Callable[[InFlightRequest[Any]], Awaitable[Any]]
Ended = Callable[[InFlightRequest[Any], Any], None]


class Worker:
    """One task's slot: the request it has in hand, and the scope by which that request can be cut short."""

    __slots__ = ("request", "scope", "wake")

    def __init__(self) -> None:
        self.request: InFlightRequest[Any] | None = None
        self.scope = anyio.CancelScope()
        self.wake: anyio.Event | None = None


class Workers:
    """A pool that grows on demand and hands out the worker that rested last, whose memory is still warm.

    :param submit: sends one request and returns its answer
    :param ended: told the request and its answer, or the exception that took the answer's place; called on the loop,
        must neither wait nor raise
    """

    __slots__ = ("_ended", "_group", "_idle", "_submit")

    def __init__(self, group: TaskGroup, submit: Submit, ended: Ended) -> None:
        self._group, self._submit, self._ended = group, submit, ended
        self._idle: list[Worker] = []

    def start(self, request: InFlightRequest[Any]) -> None:
        """Send a request at once, in parallel to all others."""
        if self._idle:
            worker = self._idle.pop()
            worker.request = request
            if worker.wake is not None:
                worker.wake.set()
        else:
            worker = Worker()
            worker.request = request
            self._group.start_soon(self._serve, worker)
        request.worker = worker

    async def _serve(self, worker: Worker) -> None:
        while True:
            with worker.scope:
                await self._serve_until_cut(worker)
            # A cancelled scope stays cancelled, so the next request needs a new one. The scope may also have been
            # cancelled after the answer had come: that request is done, and another may be in hand already.
            worker.scope = anyio.CancelScope()
            if worker.request is not None and worker.request.over:
                worker.request = None
                self._idle.append(worker)

    async def _serve_until_cut(self, worker: Worker) -> None:
        while not worker.scope.cancel_called:
            request = worker.request
            if request is None:
                await self._rest(worker)
                continue
            try:
                answer = await self._submit(request)
            except Exception as error:
                answer = error
            # Idle before the answer is looked at, so that the request which it makes room for comes to this worker.
            worker.request = None
            self._idle.append(worker)
            self._ended(request, answer)

    async def _rest(self, worker: Worker) -> None:
        worker.wake = anyio.Event()
        try:
            await worker.wake.wait()
        finally:
            worker.wake = None


class Alarm:
    """One task that wakes when the earliest of the writer's times has come.

    :param next_s: the earliest time that matters, on the loop's clock; infinite if none does
    :param ring: called when it has come; must neither wait nor raise
    """

    __slots__ = ("_next_s", "_ring", "_scope", "target_s")

    def __init__(self, next_s: Callable[[], float], ring: Callable[[], None]) -> None:
        self._next_s, self._ring = next_s, ring
        self._scope: anyio.CancelScope | None = None
        self.target_s = math.inf

    def set(self, time_s: float) -> None:
        """Wake at `time_s` at the latest."""
        if time_s < self.target_s:
            self.target_s = time_s
            if self._scope is not None:
                self._scope.deadline = time_s

    async def run(self) -> None:
        """Ring for ever; ended by cancelling its task."""
        while True:
            self.target_s = self._next_s()
            with anyio.CancelScope(deadline=self.target_s) as self._scope:
                await anyio.sleep_forever()
            self._scope, self.target_s = None, math.inf
            self._ring()
