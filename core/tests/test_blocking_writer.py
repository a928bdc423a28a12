"""The writer for programs without an event loop: what it delivers, what it raises, and what it leaves behind."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep
from types import FrameType
from typing import Any

import anyio.to_thread
import pytest

from asyncsink import (
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    FatalRequestError,
    InitContext,
    OversizedEntryError,
    RequestEntries,
    RequestResult,
    WriterClosedError,
    WriterFailedError,
)
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink, Fault, SentRequest, Step

PATIENCE_S = 10.0
"""For what must happen: a test that waits so long has failed."""
ONE_BY_ONE = AsyncSinkWriterConfig(
    max_batch_size=1, max_in_flight_requests=1, max_buffered_requests=2, request_timeout_s=600.0
)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """As in a program that was started by hand: one that a script starts in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@dataclass
class Telling:
    """Answers by one fault, and says that a request has arrived."""

    fault: Fault = Fault.OK
    arrived: threading.Event = field(default_factory=threading.Event)

    def next_step(self, request: SentRequest) -> Step:
        self.arrived.set()
        return Step(self.fault)


def entries(count: int, prefix: str = "e") -> list[FakeEntry]:
    return [FakeEntry(f"{prefix}{number}") for number in range(count)]


def test_what_is_written_is_stored_in_order_when_the_writer_is_left() -> None:
    destination = FakeDestination()
    with FakeSink(destination).open_blocking() as writer:
        writer.write(FakeEntry("first"))
        writer.write_many(entries(2000))
        writer.write(FakeEntry("last"))
    assert [each.name for each in destination.stored] == ["first", *(f"e{number}" for number in range(2000)), "last"]
    assert writer.statistics().acknowledged == 2002


def test_a_flush_of_all_returns_once_all_is_stored() -> None:
    destination = FakeDestination()
    with FakeSink(destination).open_blocking() as writer:
        writer.write_many(entries(3))
        assert writer.statistics().unacknowledged == 3
        assert [len(state.entries) for state in writer.snapshot_state()] == [3]
        writer.flush(end_of_input=True)
        assert len(destination.stored) == 3
        assert writer.statistics().unacknowledged == 0


def test_several_threads_write_at_once_and_nothing_is_lost_or_doubled() -> None:
    destination = FakeDestination()
    config = AsyncSinkWriterConfig(max_batch_size=7, max_buffered_requests=20)
    with FakeSink(destination).open_blocking(config) as writer, ThreadPoolExecutor(8) as pool:

        def write(thread: int) -> None:
            for entry in entries(20, f"{thread}."):
                writer.write(entry)
            writer.write_many(entries(50, f"{thread}m"))

        list(pool.map(write, range(8)))
    names = [each.name for each in destination.stored]
    assert len(names) == len(set(names)) == 8 * 70


def test_it_raises_what_the_asynchronous_writer_raises_once_and_keeps_what_is_left() -> None:
    arrivals = Telling(Fault.FATAL)
    with FakeSink(FakeDestination(arrivals)).open_blocking(ONE_BY_ONE) as writer:
        writer.write(FakeEntry(1))
        with pytest.raises(FatalRequestError, match="Forbidden"):
            writer.flush(end_of_input=True)
        with pytest.raises(WriterFailedError, match="Forbidden"):
            writer.write(FakeEntry(2))
    (state,) = writer.snapshot_state()
    assert [entry.name for entry in state.entries] == [1]


def test_an_error_that_no_call_has_raised_is_raised_by_leaving() -> None:
    with pytest.raises(FatalRequestError), FakeSink(FakeDestination([Fault.FATAL])).open_blocking() as writer:
        writer.write(FakeEntry(1))


def test_an_element_at_fault_is_refused_alone() -> None:
    destination = FakeDestination()
    config = AsyncSinkWriterConfig(max_record_size_in_bytes=10)
    with FakeSink(destination).open_blocking(config) as writer:
        with pytest.raises(OversizedEntryError):
            writer.write(FakeEntry("large", 11))
        writer.write(FakeEntry("small", 10))
    assert [each.name for each in destination.stored] == ["small"]


class GatedSink(FakeSink):
    """Answers when a gate is opened."""

    arrived: threading.Event
    gate: threading.Event

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        self.arrived.set()
        await anyio.to_thread.run_sync(self.gate.wait)
        return await super().submit_request_entries(entries, client)


def test_while_it_is_being_left_it_is_asked_on_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    sink, asked_in = GatedSink(FakeDestination()), list[threading.Thread]()
    sink.arrived, sink.gate = threading.Event(), threading.Event()
    snapshot_state = AsyncSinkWriter.snapshot_state

    def noted(self: Any, checkpoint_id: int | None = None) -> Any:
        asked_in.append(threading.current_thread())
        return snapshot_state(self, checkpoint_id)

    monkeypatch.setattr(AsyncSinkWriter, "snapshot_state", noted)
    writer = sink.open_blocking()
    writer.__enter__()
    writer.write_many(entries(3))
    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(writer.__exit__, None, None, None)
        assert sink.arrived.wait(PATIENCE_S)  # of the last flush: so few entries are not due before
        assert len(writer.snapshot_state()[0].entries) == 3
        sink.gate.set()
        left.result(PATIENCE_S)
    assert writer.snapshot_state()[0].entries == ()
    assert [thread is threading.current_thread() for thread in asked_in] == [False, True]


@pytest.mark.parametrize(
    "call",
    [
        lambda writer: writer.write(FakeEntry(1)),
        lambda writer: writer.write_many(entries(1)),
        lambda writer: writer.write_batch(None),
        lambda writer: writer.flush(),
    ],
    ids=["write", "write_many", "write_batch", "flush"],
)
def test_nothing_can_be_written_before_it_is_entered_after_close_and_after_it_is_left(
    call: Callable[[Any], object],
) -> None:
    writer = FakeSink(FakeDestination()).open_blocking()
    with pytest.raises(WriterClosedError, match="the writer is not open; use `with`"):
        call(writer)
    with writer:
        writer.close()
        with pytest.raises(WriterClosedError, match="the writer is closed"):
            call(writer)
        writer.close()
    with pytest.raises(WriterClosedError, match="the writer is not open; use `with`"):
        call(writer)
    writer.close()
    with pytest.raises(WriterClosedError, match="can be entered once"), writer:
        pass


def test_a_client_that_cannot_connect_leaves_nothing_behind() -> None:
    class Unreachable(FakeSink):
        @asynccontextmanager
        async def connect(self, context: InitContext) -> AsyncIterator[FakeClient]:
            raise ConnectionRefusedError("nobody listens")
            yield

    with pytest.raises(ConnectionRefusedError), Unreachable(FakeDestination()).open_blocking():
        pytest.fail("it must not be entered")


def test_an_exception_in_the_block_cuts_hanging_requests_and_leaves() -> None:
    arrivals = Telling(Fault.HANGING)
    with (  # noqa: PT012
        pytest.raises(ZeroDivisionError),
        FakeSink(FakeDestination(arrivals)).open_blocking(ONE_BY_ONE) as writer,
    ):
        writer.write_many(entries(2))
        assert arrivals.arrived.wait(PATIENCE_S)
        raise ZeroDivisionError
    (state,) = writer.snapshot_state()
    assert [entry.name for entry in state.entries] == ["e0", "e1"]


def interrupt_when(arrived: threading.Event) -> threading.Thread:
    """Press Ctrl-C once that has happened and the program waits for an answer, as it does nearly all of the time."""
    main = threading.main_thread().ident
    assert main is not None

    def call() -> FrameType | None:
        """The call that the program waits for."""
        frame = sys._current_frames().get(main)
        while frame is not None and frame.f_code is not Future.result.__code__:
            frame = frame.f_back
        return frame

    def run() -> None:
        before, until_s = None, monotonic() + PATIENCE_S
        # A call that is still the same after a while waits for what hangs.
        while arrived.wait(PATIENCE_S) and monotonic() < until_s and ((now := call()) is None or now is not before):
            before = now
            sleep(0.02)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("place", ["write", "flush", "leaving"])
def test_an_interrupted_program_leaves_nothing_behind_and_knows_what_was_not_sent(place: str) -> None:
    arrivals = Telling(Fault.HANGING)
    thread = interrupt_when(arrivals.arrived)
    with (  # noqa: PT012
        pytest.raises(KeyboardInterrupt),
        FakeSink(FakeDestination(arrivals)).open_blocking(ONE_BY_ONE) as writer,
    ):
        writer.write(FakeEntry("e0"))
        if place == "write":
            writer.write_many(entries(9))  # more than the buffer holds
        elif place == "flush":
            writer.flush(end_of_input=True)
    thread.join()
    (state,) = writer.snapshot_state()
    assert [entry.name for entry in state.entries][:1] == ["e0"]
    assert writer.statistics().unacknowledged == len(state.entries)


def test_a_call_that_was_interrupted_is_given_up_and_the_writer_goes_on() -> None:
    arrivals = Telling(Fault.HANGING)
    config = AsyncSinkWriterConfig(
        max_batch_size=1, max_in_flight_requests=1, max_buffered_requests=2, request_timeout_s=0.2
    )
    destination = FakeDestination(arrivals)
    thread = interrupt_when(arrivals.arrived)
    with FakeSink(destination).open_blocking(config) as writer:
        with pytest.raises(KeyboardInterrupt):
            writer.write_many(entries(9))  # more than the buffer holds
        arrivals.fault = Fault.OK
        (state,) = writer.snapshot_state()
        accepted = [entry.name for entry in state.entries]
        writer.write(FakeEntry("next"))
    thread.join()
    assert accepted == [f"e{number}" for number in range(len(accepted))]
    assert 1 <= len(accepted) < 9
    assert [each.name for each in destination.stored] == [*accepted, "next"]
