"""The one way from Spark's task thread to the event loop: a bounded mailbox."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import anyio

from asyncsink.errors import WriterClosedError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

DEPTH = 4
"""Batches that may wait; one more is being written. Enough that the loop never waits for the task's next batch."""

SLOT_BYTES = 2 << 20
"""The bytes of a batch from which on it counts as two, and so on; one that counts as :data:`DEPTH` waits alone."""

_END: Any = object()


class Mailbox(Generic[ItemT, ResultT]):
    """Hands items from one thread to one service on the event loop, and the service's result or error back.

    A deque, a semaphore and ``call_soon_threadsafe`` cost some 10 us an item, a blocking portal 166. The thread's side
    is a context manager: leaving it with an exception cancels the service. Made by :meth:`Worker.serve`.
    """

    def __init__(self, loop: AbstractEventLoop, depth: int = DEPTH) -> None:
        self._loop = loop
        self._items: deque[tuple[ItemT, int]] = deque()
        self._depth = depth
        self._room = threading.Semaphore(depth)
        self._settled = threading.Event()
        self._result: ResultT
        self._error: BaseException | None = None
        # Touched on the loop alone.
        self._arrived: anyio.Event | None = None
        self._scope: anyio.CancelScope | None = None
        self._abandoned = False

    # The thread's side.

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self._settled.is_set():
            self._call_soon(self._cancel)

    def put(self, item: ItemT, size_in_bytes: int = 0) -> None:
        """Hand over one item; waits while the mailbox is full. Raises what the service has failed with."""
        slots = min(1 + size_in_bytes // SLOT_BYTES, self._depth)
        for _ in range(slots):
            if not self._settled.is_set():
                self._room.acquire()
        if self._settled.is_set():
            self.result()
            raise WriterClosedError("the service of a mailbox ended before its last item")
        self._items.append((item, slots))
        if not self._call_soon(self._wake):
            self.result()

    def finish(self) -> ResultT:
        """Say that no item follows, wait for the service to end, and return its result or raise its error."""
        self._items.append((_END, 0))
        self._call_soon(self._wake)
        return self.result()

    def result(self) -> ResultT:
        """Wait for the service to end; how long it may take is the service's matter."""
        self._settled.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def _call_soon(self, callback: Callable[[], object]) -> bool:
        """Have `callback` run on the loop; False if the loop has ended, and then the worker settles this mailbox."""
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            return False
        return True

    # The loop's side.

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ItemT:
        while not self._items:
            self._arrived = anyio.Event()
            # Looked at again: the thread may have put something before it could see the event.
            if not self._items:
                await self._arrived.wait()
        item, slots = self._items.popleft()
        if item is _END:
            raise StopAsyncIteration
        self._room.release(slots)
        return item

    def _wake(self) -> None:
        if self._arrived is not None:
            self._arrived.set()

    def attach(self, scope: anyio.CancelScope) -> None:
        """Name the scope in which the service runs."""
        self._scope = scope
        if self._abandoned:
            scope.cancel()

    def _cancel(self) -> None:
        self._abandoned = True
        if self._scope is not None:
            self._scope.cancel()

    def succeed(self, result: ResultT) -> None:
        """Settle with the service's result; only the first settling counts."""
        if not self._settled.is_set():
            self._result = result
            self._settle()

    def fail(self, error: BaseException) -> None:
        """Settle with an error; also called by the loop's thread when the loop itself has ended."""
        if not self._settled.is_set():
            self._error = error
            self._settle()

    def _settle(self) -> None:
        self._settled.set()
        # Wakes the thread, should it wait for room.
        self._room.release()
