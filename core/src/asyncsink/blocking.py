"""Connectors whose client has no asynchronous form (FLIP-171's first limitation): their requests run in threads."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial, wraps
from inspect import iscoroutinefunction
from queue import Empty, SimpleQueue
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, overload

import anyio
from anyio.lowlevel import RunVar, checkpoint

from asyncsink.errors import ConfigurationError

SinkT = TypeVar("SinkT")
ResultT = TypeVar("ResultT")
P = ParamSpec("P")
Blocking = Callable[Concatenate[SinkT, P], ResultT]
Asynchronous = Callable[Concatenate[SinkT, P], Coroutine[Any, Any, ResultT]]

IDLE_S: Final = 1.0
"""Seconds after which a thread that has nothing to do ends."""

logger = logging.getLogger(__name__)


@overload
def blocking(fn: Blocking[SinkT, P, ResultT], /) -> Asynchronous[SinkT, P, ResultT]: ...
@overload
def blocking(
    *, max_threads: int | None = None
) -> Callable[[Blocking[SinkT, P, ResultT]], Asynchronous[SinkT, P, ResultT]]: ...
def blocking(fn: Any = None, /, *, max_threads: int | None = None) -> Any:
    """Make a method that blocks one that can be awaited: each call runs in a thread.

    ::

        class OrdersSink(AsyncSink[Row, bytes, Session]):
            @blocking
            def submit_request_entries(self, entries: RequestEntries[bytes], client: Session) -> RequestResult:
                client.post(self.options.url, b"".join(entries), timeout=30)
                return RequestResult.OK

    The client must bear calls from several threads at once. What the method raises arrives as it was, and it sees the
    context variables of its caller.

    *Deadlines.* A thread cannot be cut. At ``request_timeout_s``, and when the writer closes, nobody waits for it any
    longer: what it answers or raises later is ignored, and the request is sent again under the same id, perhaps while
    the thread is still at it. So give the client a timeout of its own, a little below ``request_timeout_s``.

    *Threads.* All sinks of one event loop with the same class and options have no more threads than
    ``max_in_flight_requests`` of their ``config``, or than requests that are really under way where writers have
    been given more. A thread that hangs counts until it ends: when all of them do, new requests wait for one, and
    their deadlines run. Threads end after a second without work, and keep no process from ending.

    :param max_threads: this many threads instead, for a client that bears fewer
    :raises ConfigurationError: the method is asynchronous already, or `max_threads` is no number of at least 1
    """
    if max_threads is not None and (
        isinstance(max_threads, bool) or not isinstance(max_threads, int) or max_threads < 1
    ):
        raise ConfigurationError(f"max_threads = {max_threads!r} must be a whole number of at least 1 thread")
    decorate = partial(_in_threads, max_threads=max_threads)
    return decorate if fn is None else decorate(fn)


def _in_threads(fn: Callable[..., ResultT], max_threads: int | None) -> Callable[..., Coroutine[Any, Any, ResultT]]:
    name = getattr(fn, "__qualname__", repr(fn))
    if iscoroutinefunction(fn):
        raise ConfigurationError(f"{name} is asynchronous already; use it as it is, without blocking()")

    @wraps(fn)
    async def in_a_thread(sink: Any, /, *arguments: Any, **named: Any) -> ResultT:
        threads = _threads_of(sink, name)
        threads.most, threads.may_grow = max_threads or sink.config.max_in_flight_requests, max_threads is None
        context = copy_context()
        context.run(_leave_event_loop)
        call: _Call[ResultT] = _Call(context, partial(fn, sink, *arguments, **named))
        await threads.run(call)
        return call.outcome()

    return in_a_thread


def _leave_event_loop() -> None:
    """Undo what a backend has noted in the context, else a client that runs a loop of its own would be refused."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        sniffio.current_async_library_cvar.set(None)


class _Call(Generic[ResultT]):
    """A call that waits for a thread or runs in one."""

    __slots__ = ("_context", "_error", "_function", "_result", "abandoned", "ended", "running")

    def __init__(self, context: Context, function: Callable[[], ResultT]) -> None:
        self._context, self._function = context, function
        self._error: BaseException | None = None
        self._result: ResultT
        self.ended = anyio.Event()
        self.running = self.abandoned = False

    def perform(self) -> None:
        """Make the call; in the thread."""
        try:
            self._result = self._context.run(self._function)
        except BaseException as error:  # whatever it is, it belongs to who awaits the call
            self._error = error

    def outcome(self) -> ResultT:
        """What it returned; raises what it raised."""
        if self._error is None:
            return self._result
        try:
            raise self._error
        finally:
            self._error = None  # it holds this frame by its traceback


_Inbox = SimpleQueue[_Call[Any] | None]


class _Threads:
    """The threads of one kind of sink on one event loop. All that changes is changed on the loop: there is no lock.

    anyio's own cannot be bounded under asyncio, as they give their token back when they are abandoned, and keep the
    process from ending.

    :ivar most: threads that there may be
    :ivar may_grow: whether there may be as many as calls are under way, if these are more
    """

    def __init__(self, name: str) -> None:
        self.most, self.may_grow = 1, True
        self._name = name
        self._post = _poster()
        self._idle: list[_Inbox] = []
        self._waiting: dict[_Call[Any], None] = {}
        self._alive = self._calls = self._stuck = 0
        self._warned = False

    @property
    def unused(self) -> bool:
        return not self._alive and not self._calls

    async def run(self, call: _Call[Any]) -> None:
        """Wait for a thread, and for the end of the call in it."""
        if not self._idle and self._alive >= self.most:
            # Calls that were cut at this very moment may still count as under way; let them go first.
            await checkpoint()
        self._calls += 1
        try:
            self._waiting[call] = None
            self._assign()
            await call.ended.wait()
        finally:
            self._calls -= 1
            self._waiting.pop(call, None)
            if call.running:
                call.abandoned = True
                self._stuck += 1

    def _assign(self) -> None:
        most = max(self.most, self._calls) if self.may_grow else self.most
        while self._waiting and (self._idle or self._alive < most):
            inbox = self._idle.pop() if self._idle else self._start()
            self._hand_over(inbox)
        if self._waiting and self._stuck and not self._warned:
            self._warned = True
            logger.warning(
                "%s: %d of %d threads are at requests that have timed out, so new ones wait; give the client a timeout "
                "below request_timeout_s",
                self._name,
                self._stuck,
                self._alive,
            )

    def _hand_over(self, inbox: _Inbox) -> None:
        call = next(iter(self._waiting))
        del self._waiting[call]
        call.running = True
        inbox.put(call)

    def _start(self) -> _Inbox:
        inbox: _Inbox = SimpleQueue()
        # A daemon: one that hangs must not keep the process from ending.
        threading.Thread(target=self._serve, args=[inbox], name=f"asyncsink {self._name}", daemon=True).start()
        self._alive += 1
        return inbox

    def _ended(self, inbox: _Inbox, call: _Call[Any]) -> None:
        """A thread has made its call, and is free."""
        call.running = False
        if call.abandoned:
            self._stuck -= 1
            self._warned = self._warned and self._stuck > 0
        call.ended.set()
        if self._waiting:
            self._hand_over(inbox)
        else:
            self._idle.append(inbox)

    def _retire(self, inbox: _Inbox) -> None:
        """A thread has had nothing to do; end it, unless it has been given a call meanwhile."""
        if inbox in self._idle:
            self._idle.remove(inbox)
            self._alive -= 1
            inbox.put(None)

    # ---- in the thread ---------------------------------------------------------------------------------------

    def _serve(self, inbox: _Inbox) -> None:
        try:
            while (call := self._next(inbox)) is not None:
                if not call.abandoned:
                    call.perform()
                self._post(self._ended, inbox, call)
                del call
        except RuntimeError:
            # The loop has ended, and with it all who could have wanted the answer.
            logger.debug("a thread of %s ends, as its event loop has", self._name)

    def _next(self, inbox: _Inbox) -> _Call[Any] | None:
        patience_s = IDLE_S
        while True:
            try:
                return inbox.get(timeout=patience_s)
            except Empty:
                self._post(self._retire, inbox)
                patience_s *= 2  # a loop that stands still gathers few of these


_POOLS: RunVar[dict[str, _Threads]] = RunVar("asyncsink_blocking")


def _threads_of(sink: Any, name: str) -> _Threads:
    """The threads that `sink` shares with all that have its fingerprint: they outlive it, as threads that hang do."""
    try:
        pools = _POOLS.get()
    except LookupError:
        pools = {}
        _POOLS.set(pools)
    key = sink.fingerprint
    threads = pools.get(key)
    if threads is None:
        for unused in [each for each, threads in pools.items() if threads.unused]:
            del pools[unused]
        threads = pools[key] = _Threads(name)
    return threads


def _poster() -> Callable[..., object]:
    """What runs a function on this event loop from another thread; raises RuntimeError once the loop has ended."""
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        from trio.lowlevel import current_trio_token

        return current_trio_token().run_sync_soon
