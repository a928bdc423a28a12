"""Timers: when they call back, in which order, and what becomes of what they raise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink import (
    ElementConverter,
    FatalRequestError,
    InitContext,
    ProcessingTimers,
    Schema,
    WriteContext,
    WriterFailedError,
    WriterInitContext,
    run_local,
)
from asyncsink_testing import FakeDestination, FakeSink
from asyncsink_testing.staged_sink import StagedSink, StagedWriter, StagingArea
from asyncsink_testing.virtual_time import virtual

from .harness import small


class Bell:
    """Notes when it is rung, relative to its making, in ms."""

    def __init__(self, timers: ProcessingTimers) -> None:
        self._timers, self._start = timers, timers.current_processing_time()
        self.rung: list[tuple[str, int]] = []

    def after(self, name: str, ms: int, then: Callable[[], None] = lambda: None) -> None:
        async def ring(time: int) -> None:
            assert time == self._start + ms
            self.rung.append((name, self._timers.current_processing_time() - self._start))
            then()

        self._timers.register_processing_timer(self._start + ms, ring)


@virtual
async def test_timers_come_in_the_order_of_their_times_and_then_of_their_registration() -> None:
    timers = ProcessingTimers()
    async with timers.running():
        bell = Bell(timers)
        bell.after("late", 2_000)
        bell.after("first of two", 500)
        bell.after("second of two", 500)
        bell.after("past", -100)
        await anyio.sleep(3)
    assert [name for name, _ in bell.rung] == ["past", "first of two", "second of two", "late"]
    assert [ms for _, ms in bell.rung] == pytest.approx([0, 500, 500, 2_000], abs=1)


@virtual
async def test_a_timer_may_register_the_next_and_an_earlier_one_overtakes_who_is_waited_for() -> None:
    timers = ProcessingTimers()
    async with timers.running():
        bell = Bell(timers)
        bell.after("a", 60_000)
        await anyio.sleep(1)
        bell.after("b", 2_000, lambda: bell.after("c", 5_000))
        await anyio.sleep(10)
        assert [name for name, _ in bell.rung] == ["b", "c"]
        await anyio.sleep(60)
    name, ms = bell.rung[-1]
    assert name == "a"
    assert ms == pytest.approx(60_000, abs=1)


@virtual
async def test_one_callback_is_awaited_before_the_next() -> None:
    timers, seen = ProcessingTimers(), list[str]()

    async def slow(_: int) -> None:
        seen.append("begins")
        await anyio.sleep(5)
        seen.append("ends")

    async with timers.running():
        for _ in range(2):
            timers.register_processing_timer(0, slow)
        await anyio.sleep(20)
    assert seen == ["begins", "ends"] * 2


@virtual
async def test_timers_that_are_not_due_end_with_the_block() -> None:
    timers = ProcessingTimers()
    async with timers.running():
        bell = Bell(timers)
        bell.after("never", 1_000)
    await anyio.sleep(5)
    assert bell.rung == []


async def _fail(_: int) -> None:
    raise ZeroDivisionError("of a timer")


@virtual
async def test_what_a_callback_raises_ends_the_block() -> None:
    async def block() -> None:
        timers = ProcessingTimers()
        async with timers.running():
            timers.register_processing_timer(0, _fail)
            await anyio.sleep_forever()

    with pytest.raises(ZeroDivisionError, match="of a timer"):
        await block()


@virtual
async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with ProcessingTimers().running():
            raise KeyError


@pytest.mark.parametrize("time", [1.5, "soon", True, None])
def test_a_time_that_is_no_integer_is_refused(time: Any) -> None:
    with pytest.raises(TypeError, match="give it ms since the epoch"):
        ProcessingTimers().register_processing_timer(time, _fail)


class Registering(ElementConverter[Any, Any]):
    """Registers a timer when it is opened."""

    def __init__(self, callback: Callable[[int], Any], after_ms: int) -> None:
        self._callback, self._after_ms = callback, after_ms

    def open(self, context: InitContext) -> None:
        service = context.processing_time_service
        service.register_processing_timer(service.current_processing_time() + self._after_ms, self._callback)

    def apply(self, element: Any, context: WriteContext) -> Any:
        return element


class TimedSink(FakeSink):
    """A sink whose converter registers a timer."""

    def __init__(self, callback: Callable[[int], Any], after_ms: int) -> None:
        super().__init__(FakeDestination(), config=small())
        self._converter = Registering(callback, after_ms)

    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return self._converter


@virtual
async def test_a_converter_is_called_back_while_its_writer_lives() -> None:
    rung: list[int] = []

    async def ring(time: int) -> None:
        rung.append(time)

    async with TimedSink(ring, 1_000).open() as writer:
        await writer.write(b"a")
        await anyio.sleep(2)
        assert len(rung) == 1


@virtual
async def test_what_its_timer_raises_fails_the_writer_as_a_fatal_error_does() -> None:
    writer = TimedSink(_fail, 1_000).open()

    async def write() -> None:
        async with writer:
            await writer.write(b"a")
            await anyio.sleep(2)
            await writer.write(b"b")

    with pytest.raises(FatalRequestError, match="ZeroDivisionError while a timer called back: of a timer") as caught:
        await write()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(WriterFailedError):
        await writer.write(b"c")
    assert writer.snapshot_state()[0].entries == (b"a",)


@virtual
async def test_who_runs_the_timers_of_a_context_himself_is_not_disturbed() -> None:
    timers, rung = ProcessingTimers(), list[int]()

    async def ring(time: int) -> None:
        rung.append(time)

    async with timers.running(), TimedSink(ring, 10).create_writer(WriterInitContext(processing_time_service=timers)):
        await anyio.sleep(1)
    assert len(rung) == 1


class _Ticking(StagedWriter):
    """Ends when its timer has been called."""

    async def __aenter__(self) -> Any:
        service = self._context.processing_time_service
        service.register_processing_timer(service.current_processing_time() + 20, _fail)
        return self

    async def flush(self, end_of_input: bool = False) -> None:
        await anyio.sleep_forever()


class _TickingSink(StagedSink):
    def create_writer(self, context: InitContext, states: Any = ()) -> StagedWriter:
        return _Ticking(self, context, states)


def test_a_local_run_calls_back_any_writer_and_ends_with_what_a_timer_raises(tmp_path: Path) -> None:
    area = StagingArea()
    with pytest.raises(ZeroDivisionError, match="of a timer"):
        anyio.run(run_local, _TickingSink(area), ["a"], tmp_path)
    assert area.visible == []
