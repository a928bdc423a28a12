"""Mutants that close, fail or end badly, or leave a successor too little."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import trio
from reference import Entry, ReferenceSink

from asyncsink import InitContext, RequestEntries, RequestResult, WriterStatistics
from asyncsink.errors import RequestError
from asyncsink.state import BufferedRequestState
from asyncsink_testing import InProcessDestination
from mutants import Wrapped, mutant

State = BufferedRequestState[Entry]


# ---- closing and cancelling ----------------------------------------------------------------------------------


class _ClosesOnce(Wrapped):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("Session is closed")
        self.closed = True
        await self.writer.aclose()


@mutant(fails=["close-twice"])
class CloseRaisesTheSecondTime(ReferenceSink):
    """Its writer closes a client that raises if it is closed already."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _ClosesOnce(super().create_writer(context, states))


class _FlushesAtTheEnd(Wrapped):
    closed = False

    async def aclose(self) -> None:
        if not self.closed:
            self.closed = True
            with anyio.move_on_after(1):
                await self.writer.flush(end_of_input=True)
        await self.writer.aclose()


@mutant(fails=["close-twice"])
class CloseFlushes(ReferenceSink):
    """Its ``aclose`` sends what is left, for up to a second."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _FlushesAtTheEnd(super().create_writer(context, states))


class _LogsWhateverHappens(Wrapped):
    async def flush(self, end_of_input: bool = False) -> None:
        try:
            await self.writer.flush(end_of_input)
        except anyio.get_cancelled_exc_class():
            pass  # the bug: `except BaseException` around a request, for a line in the log


@mutant(fails=["cancel-in-flight"])
class SwallowsTheCancellationOfFlush(ReferenceSink):
    """It catches every exception within ``flush``, that of a cancelled task too."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _LogsWhateverHappens(super().create_writer(context, states))


class _LeavesQuietly(Wrapped):
    async def __aexit__(self, *error: Any) -> Any:
        try:
            await self.writer.__aexit__(*error)
        except anyio.get_cancelled_exc_class():
            pass  # the bug: as above, around what closes the client
        return error[0] is None or issubclass(error[0], anyio.get_cancelled_exc_class())


@mutant(fails=["cancel-in-flight"])
class LeavesACancelledTaskRunning(ReferenceSink):
    """Its ``__aexit__`` returns something true, so that the cancellation ends there."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _LeavesQuietly(super().create_writer(context, states))


class _ForgetsInFlight(Wrapped):
    async def __aexit__(self, *error: Any) -> Any:
        self.cancelled = error[0] is not None and issubclass(error[0], anyio.get_cancelled_exc_class())
        return await self.writer.__aexit__(*error)

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[State]:
        states = self.writer.snapshot_state(checkpoint_id)
        if not getattr(self, "cancelled", False):
            return list(states)
        return [BufferedRequestState(each.entries[4:], each.sizes[4:]) for each in states]


@mutant(fails=["cancel-in-flight"])
class ForgetsWhatACancellationCuts(ReferenceSink):
    """A request that is cut by a cancellation is in no snapshot."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _ForgetsInFlight(super().create_writer(context, states))


class _CountsWhatIsCut(Wrapped):
    cut = 0

    async def __aexit__(self, *error: Any) -> Any:
        if error[0] is not None:
            self.cut = self.writer.statistics().unacknowledged
        return await self.writer.__aexit__(*error)

    def statistics(self) -> WriterStatistics:
        told: WriterStatistics = self.writer.statistics()
        return replace(told, acknowledged=told.acknowledged + self.cut)


@mutant(fails=["cancel-in-flight"])
class CountsWhatIsCutAsStored(ReferenceSink):
    """It counts an entry as acknowledged when its request is over, however that came."""

    def create_writer(self, context: InitContext, states: Sequence[Any] = ()) -> Any:
        return _CountsWhatIsCut(super().create_writer(context, states))


@mutant(fails=["no-task-left"])
class LeaksATask(ReferenceSink):
    """It starts a task of its own, such as one that refreshes credentials, which nobody ends."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            trio.lowlevel.spawn_system_task(trio.sleep_forever, name="refresh credentials")
            yield client


@mutant(fails=["no-task-left"])
class LeaksAConnection(ReferenceSink):
    """It opens a second connection, for what the service says of itself, and closes it only if all went well."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            client.connect()
            yield client
            client.disconnect()


@mutant(fails=["no-task-left"])
class LeaksAClientThatFailed(ReferenceSink):
    """It closes its client in every case but that of an error."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            client.connect()
            try:
                yield client
            except Exception:
                raise
            except BaseException:
                client.disconnect()
                raise
            client.disconnect()


@mutant(fails=["connections-given-back"])
class LeaksAConnectionForEachRefusal(ReferenceSink):
    """It does not read the answers of refusals, so that their connections are in use until the client is closed."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            self.unread = 0
            try:
                yield client
            finally:
                for _ in range(self.unread):
                    client.disconnect()

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError:
            client.connect()
            self.unread += 1
            raise


@mutant(fails=["cancel-in-flight"])
class ClosesItsClientSlowly(ReferenceSink):
    """It gives its client five seconds to end well, whatever the task that it belongs to was told."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as client:
            try:
                yield client
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(5)
                raise


# ---- a destination that is down, and one that comes back -----------------------------------------------------


@mutant(fails=["destination-down"])
class LetsTheClientsErrorOut(ReferenceSink):
    """What its client raises when nobody listens leaves ``connect`` as it is."""

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        destination = InProcessDestination.at(self.options.endpoint)
        destination.connect()
        try:
            yield destination
        finally:
            destination.disconnect()


@mutant(fails=["reopen-after-failure"])
class KeepsItsCircuitBreaker(ReferenceSink):
    """A fatal answer opens a circuit breaker on the sink, which never closes."""

    broken: RequestError | None = None

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        if self.broken is not None:
            raise self.broken
        try:
            return await super().submit_request_entries(entries, client)
        except RequestError as error:
            if error.code in self.errors.fatal:
                self.broken = error
            raise


# ---- one sink, several writers -------------------------------------------------------------------------------


class _LoopsClient:
    """A client that belongs to the event loop in which it was made, as aiohttp's and grpc's do."""

    def __init__(self) -> None:
        self.loop = trio.lowlevel.current_trio_token()

    def check(self) -> None:
        if self.loop is not trio.lowlevel.current_trio_token():
            raise RuntimeError("the client is attached to a different event loop")


@mutant(fails=["two-event-loops"])
class SharesAClientOverLoops(ReferenceSink):
    """Its client is made once and kept on the sink, for whatever loop comes next."""

    client: _LoopsClient | None = None

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        self.client = self.client or _LoopsClient()
        self.client.check()
        return await super().submit_request_entries(entries, client)


@mutant(fails=["many-writers"])
class KeepsItsClientOnTheSink(ReferenceSink):
    """Each writer puts its client on the sink and takes it away when it is left, the other writer's too."""

    client: InProcessDestination | None = None

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[InProcessDestination]:
        async with super()._connected() as self.client:
            try:
                yield self.client
            finally:
                self.client = None

    async def submit_request_entries(
        self, entries: RequestEntries[Entry], client: InProcessDestination
    ) -> RequestResult:
        if self.client is None:
            raise RuntimeError("Session is closed")
        return await super().submit_request_entries(entries, self.client)
