"""Before the writer is open: while it connects, when that fails, and when it is closed meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSink,
    AsyncSinkWriter,
    BufferedRequestState,
    InitContext,
    ListBlock,
    OversizedEntryError,
    WriterClosedError,
    WriterInitContext,
)
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink
from asyncsink_testing.clients import FreshClients
from asyncsink_testing.virtual_time import virtual

from .harness import entries, run_on, small, stored


class Connecting(FakeSink):
    """Takes a while to connect, and may fail."""

    error: BaseException | None = None
    connects = lent = 0

    @asynccontextmanager
    async def _slowly(self) -> AsyncIterator[FakeClient]:
        self.connects += 1
        await anyio.sleep(0.02)
        if self.error is not None:
            raise self.error
        self.lent += 1
        try:
            yield FakeClient(self.destination, 1)
        finally:
            self.lent -= 1

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[FakeClient]:
        return self._slowly()


class Unrouted(Connecting):
    route_of = AsyncSink.route_of


def refuses(writer: AsyncSinkWriter[Any, Any]) -> None:
    """Every call that writes or flushes raises at once: it does not wait, not even for its next turn."""
    block = ListBlock([FakeEntry(9)], [1])
    calls: list[Callable[[], Any]] = [
        lambda: writer.write(FakeEntry(9)),
        lambda: writer.write_many(entries(9, 10)),
        lambda: writer.write_many([]),
        lambda: writer.write_block(block),
        writer.wait_available,
        writer.flush,
        lambda: writer.flush(end_of_input=True),
    ]
    for call in calls:
        with pytest.raises(WriterClosedError):
            call().send(None)
    with pytest.raises(WriterClosedError):
        writer.write_nowait(FakeEntry(9))


STATE = BufferedRequestState((FakeEntry(1), FakeEntry(2)), (1, 1))


@pytest.mark.parametrize("sink", [Connecting, Unrouted], ids=["routed", "unrouted"])
@virtual
async def test_a_writer_whose_connection_failed_refuses_every_call_and_keeps_what_was_restored(
    sink: type[Connecting],
) -> None:
    broken = sink(FakeDestination())
    broken.error = ConnectionRefusedError("nobody there")
    writer = broken.open(small(), states=[STATE])
    with pytest.raises(ConnectionRefusedError, match="nobody there"):
        await writer.__aenter__()
    refuses(writer)
    assert writer.snapshot_state() == [STATE]
    assert writer.statistics().unacknowledged == 2
    await writer.aclose()  # has been closed by failing: says nothing more
    with pytest.raises(WriterClosedError):
        await writer.__aenter__()


@pytest.mark.parametrize("sink", [Connecting, Unrouted], ids=["routed", "unrouted"])
@virtual
async def test_calls_are_refused_at_once_while_another_task_connects(sink: type[Connecting]) -> None:
    destination = FakeDestination()
    writer = sink(destination).open(small(), states=[STATE])

    async def use() -> None:
        async with writer:
            pass

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        await anyio.sleep(0.01)
        refuses(writer)
        assert [entry.name for entry in writer.snapshot_state()[0].entries] == [1, 2]
    assert stored(destination) == [1, 2]


@virtual
async def test_a_state_too_large_to_be_restored_stays_in_the_snapshot() -> None:
    sink = Connecting(FakeDestination())
    state = BufferedRequestState((FakeEntry(1, 101),), (101,))
    writer = sink.open(small(), states=[state])
    with pytest.raises(OversizedEntryError):
        await writer.__aenter__()
    assert writer.snapshot_state() == [state]
    refuses(writer)
    await writer.aclose()
    assert (sink.connects, sink.lent) == (1, 0), "what an entry may have the sink may learn from its client"


@pytest.mark.parametrize("states", [[], [STATE]], ids=["empty", "restored"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_writer_closed_before_it_is_entered_never_connects(backend: str, states: list[Any]) -> None:
    destination, clients = FakeDestination(), FreshClients()
    sink = Connecting(destination, config=small())

    async def main() -> None:
        writer = sink.create_writer(WriterInitContext(clients=clients), states)
        await writer.aclose()
        with pytest.raises(WriterClosedError):
            await writer.__aenter__()
        refuses(writer)
        assert writer.snapshot_state() == [BufferedRequestState.joined(states)]

    run_on(backend, main)
    assert (destination.requests, sink.connects) == ([], 0)
    assert [each.in_flight for each in clients.cache._limiters.values()] == [0] * len(clients.cache)


@pytest.mark.parametrize("states", [[], [STATE]], ids=["empty", "restored"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_writer_closed_while_it_connects_never_opens(backend: str, states: list[Any]) -> None:
    destination, clients = FakeDestination(), FreshClients()
    sink = Connecting(destination, config=small())
    raised: list[BaseException] = []

    async def main() -> None:
        writer = sink.create_writer(WriterInitContext(clients=clients), states)

        async def enter() -> None:
            try:
                await writer.__aenter__()
            except WriterClosedError as error:
                raised.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(enter)
            await anyio.sleep(0.01)
            if states:
                with pytest.warns(ResourceWarning, match="2 unacknowledged"):
                    await writer.aclose()
            else:
                await writer.aclose()
        refuses(writer)
        assert writer.snapshot_state() == [BufferedRequestState.joined(states)]

    run_on(backend, main)
    assert len(raised) == 1
    assert (destination.requests, sink.connects) == ([], 1)
    for limiter in clients.cache._limiters.values():
        assert (limiter.in_flight, limiter.waiting) == (0, {})
