"""Clients and learned limits that live on while Spark's micro-batches come and go."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from asyncsink.errors import WriterClosedError
from asyncsink.limits.limiter import LimiterCache

ClientT = TypeVar("ClientT")

MOST_CLIENTS = 4
CLOSE_TIMEOUT_S = 10.0

logger = logging.getLogger(__name__)


class WorkerClients:
    """The :class:`~asyncsink.context.ClientCache` of one event loop.

    Keeps at most `most` clients, the least recently used goes first. A writer that needs more of them at once has them,
    and so many are kept until a writer that needs fewer gives back its own: else each would have to connect anew in
    every micro-batch. Each has one user at a time and is dropped after any error. Limiters stay as long as the loop.

    :param group: the task group in which the clients' keepers run; it outlives them
    """

    def __init__(self, group: TaskGroup, most: int = MOST_CLIENTS) -> None:
        self._group = group
        self._most = most
        self._keepers: dict[str, _Keeper[Any]] = {}
        self._limiters: dict[str, LimiterCache] = {}
        self._at_once = 0
        """The most that were lent at one time since none was."""
        self._released = anyio.Event()

    def limiters(self, fingerprint: str) -> LimiterCache:
        """The limiters of the writers with `fingerprint`, with what they have learned."""
        return self._limiters.setdefault(fingerprint, LimiterCache())

    @asynccontextmanager
    async def lease(
        self, fingerprint: str, connect: Callable[[], AbstractAsyncContextManager[ClientT]]
    ) -> AsyncIterator[ClientT]:
        """Lend the client of `fingerprint`; waits while another has it."""
        while (keeper := self._lend(fingerprint, connect)) is None:
            await self._released.wait()
        try:
            yield await keeper.client()
        except BaseException:
            self._drop(fingerprint)
            raise
        finally:
            keeper.lent = False
            self._drop_too_many()
            self._released.set()
            self._released = anyio.Event()

    def _lend(
        self, fingerprint: str, connect: Callable[[], AbstractAsyncContextManager[ClientT]]
    ) -> _Keeper[ClientT] | None:
        keeper = self._keepers.get(fingerprint)
        if keeper is not None and keeper.lent:
            return None
        if keeper is None:
            keeper = _Keeper(connect)
            self._group.start_soon(keeper.keep, name=f"asyncsink client {fingerprint}")
        keeper.lent = True
        # A dict keeps the order of insertion: the last lent stands last.
        self._keepers.pop(fingerprint, None)
        self._keepers[fingerprint] = keeper
        self._at_once = max(self._at_once, self._lent)
        return keeper

    @property
    def _lent(self) -> int:
        return sum(keeper.lent for keeper in self._keepers.values())

    def _drop_too_many(self) -> None:
        # Not when another is lent: the oldest is then what the same writer asks for next, and so on for each of them.
        idle = [fingerprint for fingerprint, keeper in self._keepers.items() if not keeper.lent]
        for fingerprint in idle[: max(len(self._keepers) - max(self._most, self._at_once), 0)]:
            self._drop(fingerprint)
        if not self._lent:
            self._at_once = 0

    def _drop(self, fingerprint: str) -> None:
        self._keepers.pop(fingerprint).leave()


class _Keeper(Generic[ClientT]):
    """Enters one client and leaves it again in the same task, as cancel scopes and connection pools demand."""

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[ClientT]]) -> None:
        self.lent = False
        self._connect = connect
        self._client: ClientT
        self._error: Exception | None = None
        self._connected = False
        self._tried = anyio.Event()
        self._left = anyio.Event()
        self._scope = anyio.CancelScope()

    async def keep(self) -> None:
        """Hold the client until :meth:`leave`; never raises, for the worker outlives every client."""
        try:
            with self._scope:
                async with self._connect() as self._client:
                    self._connected = True
                    self._tried.set()
                    await self._left.wait()
        except Exception as error:
            self._error = error
            if self._connected:
                logger.warning("A client failed while it was closed: %s: %s", type(error).__name__, error)
        finally:
            self._tried.set()

    async def client(self) -> ClientT:
        """Wait until the client is connected; raises what connecting raised."""
        await self._tried.wait()
        if self._error is not None:
            raise self._error
        if not self._connected:
            raise WriterClosedError("the client was dropped while it was being connected; run the task again")
        return self._client

    def leave(self) -> None:
        """Have the client closed, within `CLOSE_TIMEOUT_S`; one that is still being connected is cancelled."""
        if self._connected:
            self._left.set()
            self._scope.deadline = anyio.current_time() + CLOSE_TIMEOUT_S
        else:
            self._scope.cancel()
