"""Long-lived tasks that send requests: a task per request would cost three to four times as much."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from asyncsink.writer.clock import Wake, loop_wake
from asyncsink.writer.request import InFlightRequest

logger = logging.getLogger(__name__)

Submit = Callable[[InFlightRequest[Any], Any], Awaitable[Any]]
Ended = Callable[[InFlightRequest[Any], Any], None]


class Worker:
    """One task's slot: the request it has in hand, and the scope by which that request can be cut short."""

    __slots__ = ("is_cut", "request", "scope", "wake")

    def __init__(self) -> None:
        self.request: InFlightRequest[Any] | None = None
        self.scope = anyio.CancelScope()
        self.is_cut = False
        self.wake: Wake | None = None

    def cut(self) -> None:
        """Cut the request in hand short."""
        self.is_cut = True
        self.scope.cancel()


class Workers:
    """A pool that grows on demand and hands out the worker that rested last, whose memory is still warm.

    :param submit: sends one request with the client and returns its answer
    :param ended: told the request and its answer, or the exception that took the answer's place; called on the loop,
        must neither wait nor raise
    """

    __slots__ = ("_client", "_ended", "_group", "_idle", "_new_wake", "_submit")

    def __init__(self, group: TaskGroup, submit: Submit, client: Any, ended: Ended) -> None:
        self._group, self._submit, self._client, self._ended = group, submit, client, ended
        self._new_wake = loop_wake()
        self._idle: list[Worker] = []

    def start(self, request: InFlightRequest[Any]) -> None:
        """Send a request at once, in parallel to all others."""
        if self._idle:
            worker = self._idle.pop()
            worker.request = request
            if worker.wake is not None and not worker.wake.done():
                worker.wake.set_result(None)
        else:
            worker = Worker()
            worker.request = request
            self._group.start_soon(self._serve, worker)
        request.worker = worker

    async def _serve(self, worker: Worker) -> None:
        while True:
            error: BaseException | None = None
            try:
                with worker.scope:
                    await self._serve_until_cut(worker)
            except BaseExceptionGroup as raised:
                # A request that was cut, and whose own tasks raised meanwhile; under trio beside its cancellation,
                # and where the writer is being left, beside that of this task: only that may leave it.
                error, cancelled = raised.split(Exception)
                if cancelled is not None:
                    logger.debug("a request was cut, and raised meanwhile", exc_info=error)
                    raise cancelled from None
            except Exception as raised:
                error = raised
            # A cancelled scope stays cancelled, so the next request needs a new one. The scope may also have been
            # cancelled after the answer had come: that request is done, and another may be in hand already.
            worker.scope, worker.is_cut = anyio.CancelScope(), False
            request = worker.request
            if request is not None and (request.over or error is not None):
                self._lay_down(worker, request, error)

    def _lay_down(self, worker: Worker, request: InFlightRequest[Any], error: BaseException | None) -> None:
        worker.request = None
        self._idle.append(worker)
        if not request.over:
            self._ended(request, error)
        elif error is not None:
            logger.debug("request %s was cut, and raised meanwhile", request.id, exc_info=error)

    async def _serve_until_cut(self, worker: Worker) -> None:
        while not worker.is_cut:
            request = worker.request
            if request is None:
                await self._rest(worker)
                continue
            answer: Any
            try:
                answer = await self._submit(request, self._client)
            except Exception as error:
                answer = error
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # Nobody has cancelled this task: the connector awaited something of its own that was cancelled.
                answer = error
            # Idle before the answer is looked at, so that the request which it makes room for comes to this worker.
            worker.request = None
            self._idle.append(worker)
            self._ended(request, answer)

    async def _rest(self, worker: Worker) -> None:
        worker.wake = self._new_wake()
        try:
            await worker.wake
        finally:
            worker.wake = None
