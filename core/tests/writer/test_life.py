"""Entering, leaving, closing, being cancelled."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from asyncsink import InitContext, WriterClosedError
from asyncsink_testing import (
    RULES,
    FakeClient,
    FakeDestination,
    FakeEntry,
    FakeSink,
    Fault,
    RecordedWriter,
    Step,
    check,
)
from asyncsink_testing.rules import NoEarlyCut
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


@virtual
async def test_making_a_writer_does_no_input_or_output() -> None:
    destination = FakeDestination()
    FakeSink(destination).open(small())
    assert destination.history.writers == 0


@virtual
async def test_leaving_normally_flushes_then_closes() -> None:
    destination = FakeDestination([Step(latency_s=2.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1))
    assert stored(destination) == [1]
    with pytest.raises(WriterClosedError):
        await writer.write(FakeEntry(2))


@virtual
async def test_leaving_with_an_exception_closes_at_once_and_the_exception_arrives_as_it_was() -> None:
    destination = FakeDestination([Step(latency_s=9.0)])
    error = ZeroDivisionError("mine")
    with pytest.raises(ZeroDivisionError) as caught:  # noqa: PT012
        async with FakeSink(destination).open(small()) as writer:
            await writer.write_many(entries(1, 4))
            await anyio.sleep(1.0)
            raise error
    assert caught.value is error
    assert anyio.current_time() == 1.0
    assert writer.statistics().unacknowledged == 4
    assert destination.in_flight == {}


@virtual
async def test_a_bare_aclose_sends_nothing_and_warns_with_the_number_that_is_left() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 2))
        with pytest.warns(ResourceWarning, match=r"\b2 unacknowledged"):
            await writer.aclose()
        await writer.aclose()
    assert batches(destination) == []


@virtual
async def test_a_bare_aclose_of_an_empty_writer_says_nothing() -> None:
    async with FakeSink(FakeDestination()).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=True)
        await writer.aclose()


@virtual
async def test_aclose_of_another_task_wakes_waiting_calls_and_leaves_the_body_alone() -> None:
    destination = FakeDestination([Step(latency_s=9.0)])
    woken: list[str] = []
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        await writer.write_many(entries(1, 7))

        async def wait_in(name: str, call: Any) -> None:
            with pytest.raises(WriterClosedError):
                await call()
            woken.append(name)

        async with anyio.create_task_group() as others:
            others.start_soon(wait_in, "write", lambda: writer.write(FakeEntry(8)))
            others.start_soon(wait_in, "flush", lambda: writer.flush(True))
            others.start_soon(wait_in, "flush false", lambda: writer.flush(False))
            others.start_soon(wait_in, "available", writer.wait_available)
            await anyio.sleep(1.0)
            with pytest.warns(ResourceWarning):
                await writer.aclose()
        assert sorted(woken) == ["available", "flush", "flush false", "write"]
        await anyio.sleep(1.0)
        assert anyio.current_time() == 2.0, "the body has not been cancelled"
    assert destination.in_flight == {}


@virtual
async def test_a_writer_that_was_not_entered_says_so() -> None:
    writer = FakeSink(FakeDestination()).open(small())
    with pytest.raises(WriterClosedError, match="not been entered"):
        await writer.write(FakeEntry(1))


@virtual
async def test_the_client_is_entered_and_left_once_by_the_task_of_the_writer() -> None:
    events: list[str] = []

    class Sink(FakeSink):
        def connect(self, context: InitContext) -> AbstractAsyncContextManager[FakeClient]:
            return self._watched()

        @asynccontextmanager
        async def _watched(self) -> AsyncIterator[FakeClient]:
            events.append("connect")
            try:
                yield FakeClient(self.destination, 1)
            finally:
                await anyio.lowlevel.checkpoint()
                events.append("disconnect")

    async with Sink(FakeDestination()).open(small()) as writer:
        await writer.write(FakeEntry(1))
        assert events == ["connect"]
    assert events == ["connect", "disconnect"]


@virtual
async def test_a_connection_that_fails_raises_as_it_is_on_entering() -> None:
    class Sink(FakeSink):
        def connect(self, context: InitContext) -> AbstractAsyncContextManager[FakeClient]:
            raise ConnectionRefusedError("nobody there")

    with pytest.raises(ConnectionRefusedError, match="nobody there"):
        async with Sink(FakeDestination()).open(small()):
            pytest.fail("must not be entered")


@pytest.mark.parametrize("after_s", [0.0, 0.5, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("call", ["write", "write_many", "flush", "leave"])
@virtual
async def test_cancellation_at_any_await_leaves_the_accounting_whole(call: str, after_s: float) -> None:
    destination = FakeDestination([Step(latency_s=1.0), Step(Fault.HANGING), Step(Fault.THROTTLED, 1.0)])
    sink = FakeSink(destination)
    first = RecordedWriter(sink, small(max_buffered_requests=4), limited=False)
    with anyio.CancelScope() as scope:
        scope.deadline = anyio.current_time() + after_s
        async with first:
            await first.write_many(entries(1, 5))
            if call == "write":
                for entry in entries(6, 12):
                    await first.write(entry)
            elif call == "write_many":
                await first.write_many(entries(6, 30))
            elif call == "flush":
                await first.flush(end_of_input=True)
            if call != "leave":
                await anyio.sleep_forever()
    states = first.snapshot()
    async with RecordedWriter(sink, small(), states=states, limited=False):
        pass
    check(destination.history, [rule for rule in RULES if rule is not NoEarlyCut])


@virtual
async def test_nothing_is_left_running_after_leaving() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 9)
    async with anyio.create_task_group() as group:
        async with FakeSink(destination).open(small(max_in_flight_requests=5)) as writer:
            await writer.write_many(entries(1, 15))
        await settled()
        gc.collect()
        group.cancel_scope.cancel()
    assert destination.in_flight == {}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_both_event_loops_deliver_under_faults(backend: str) -> None:
    destination = FakeDestination([Fault.THROTTLED, Fault.DISCONNECTED, Step.partly(Fault.PARTLY_FAILED, 0)])

    async def main() -> None:
        async with FakeSink(destination).open(small(max_in_flight_requests=3)) as writer:
            await writer.write_many(entries(1, 50))

    anyio.run(main, backend=backend)
    assert sorted(set(stored(destination))) == [*range(1, 51)]
