"""The committers of one sink, for as long as one operation of the coordinator lasts."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio

from asyncsink.committer import Committer, GlobalCommitter
from asyncsink.errors import ConfigurationError
from asyncsink.sink import Sink
from asyncsink.transactions.transaction import Transaction

logger = logging.getLogger(__name__)

T = TypeVar("T")

_TIDY_TIMEOUT_S: Final = 60.0
_CLOSE_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Committers:
    """Those that a sink has. What they connect to is connected to once, and given up when the operation is over.

    :param name: the sink's, for messages
    """

    name: str
    single: Committer[Any] | None
    overall: GlobalCommitter[Any, Any] | None

    @property
    def _sweeper(self) -> Committer[Any] | GlobalCommitter[Any, Any] | None:
        return self.single or self.overall

    async def check_destination(self) -> None:
        """Ask both of them whether anything could be committed."""
        for each in (self.single, self.overall):
            if each is not None:
                await each.check_destination()

    async def check(self, committables: Sequence[Any]) -> None:
        """See that what was prepared can still be committed."""
        if self.single is not None:
            await self.single.check(committables)

    async def abort(self, committables: Sequence[Any]) -> None:
        """Have what was prepared removed, if anything was; a failure is logged."""
        sweeper = self._sweeper
        if sweeper is not None and committables:
            await self._tried("abort", lambda: sweeper.abort(committables))

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        """Have what dead and losing attempts have left removed; a failure is logged.

        :raises ConfigurationError: what was found there shows that the sink may not be used so
        """
        sweeper = self._sweeper
        if sweeper is not None:
            await self._tried("sweep", lambda: sweeper.sweep(transaction, states))

    async def open_transactions(self, transaction: Transaction) -> Sequence[str]:
        """What is there of this sink that is not committed, a line for each. Raises what the committer raises.

        :raises TimeoutError: it does not answer
        """
        sweeper = self._sweeper
        if sweeper is None:
            return ()
        return await _answered(lambda: sweeper.open_transactions(transaction), _TIDY_TIMEOUT_S)

    async def aclose(self) -> None:
        """Have both of them give up what they hold."""
        for each in (self.overall, self.single):
            if each is not None:
                with anyio.CancelScope(shield=True):
                    await self._tried("be closed", each.aclose, _CLOSE_TIMEOUT_S)

    async def _tried(
        self, operation: str, call: Callable[[], Awaitable[None]], timeout_s: float = _TIDY_TIMEOUT_S
    ) -> None:
        """What fails here leaves at most what nobody sees, and a later sweep finds: no reason to fail a batch."""
        try:
            await _answered(call, timeout_s)
        except ConfigurationError:
            raise
        except Exception as error:
            logger.warning(
                "the committer of %r could not %s: %s: %s", self.name, operation, type(error).__name__, error
            )


async def _answered(call: Callable[[], Awaitable[T]], timeout_s: float) -> T:
    with anyio.move_on_after(timeout_s):
        return await call()
    raise TimeoutError(f"no answer within {timeout_s:g} s; what was logged before may say why")


@asynccontextmanager
async def committers_of(name: str, sink: Sink[Any, Any, Any, Any]) -> AsyncIterator[Committers]:
    """The committers of `sink`, made anew."""
    committers = Committers(name, sink.create_committer(), sink.create_global_committer())
    try:
        yield committers
    finally:
        await committers.aclose()
