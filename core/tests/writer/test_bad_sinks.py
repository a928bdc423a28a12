"""A sink whose own methods raise: the call that asked raises, nothing is accepted, the writer goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import pytest

from asyncsink import AsyncSink, AsyncSinkWriter, BufferedRequestState, ListBlock, WriterClosedError
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink
from asyncsink_testing.virtual_time import virtual

from .harness import entries, small, stored

BAD = "bad"
Write = Callable[[AsyncSinkWriter[Any, Any], list[FakeEntry]], Awaitable[None]]


class RouteOfRaises(FakeSink):
    def route_of(self, entry: Any) -> Hashable | None:
        if entry.route == BAD:
            raise LookupError("no such route")
        return super().route_of(entry)


class ScopeOfRaises(FakeSink):
    def scope_of(self, route: Hashable | None) -> Hashable | None:
        if route == BAD:
            raise LookupError("no such scope")
        return route


class SizeOfRaises(FakeSink):
    def size_in_bytes(self, entry: Any) -> int:
        if entry.route == BAD:
            raise LookupError("no size")
        return super().size_in_bytes(entry)


async def write(writer: AsyncSinkWriter[Any, Any], given: list[FakeEntry]) -> None:
    for entry in given:
        await writer.write(entry)


async def write_nowait(writer: AsyncSinkWriter[Any, Any], given: list[FakeEntry]) -> None:
    for entry in given:
        writer.write_nowait(entry)


async def write_many(writer: AsyncSinkWriter[Any, Any], given: list[FakeEntry]) -> None:
    await writer.write_many(given)


async def write_block(writer: AsyncSinkWriter[Any, Any], given: list[FakeEntry]) -> None:
    await writer.write_block(ListBlock(given, [entry.size for entry in given]))


@pytest.mark.parametrize(
    ("sink", "call"),
    [
        (sink, call)
        for sink in (RouteOfRaises, ScopeOfRaises, SizeOfRaises)
        for call in (write, write_nowait, write_many, write_block)
        if (sink, call) != (SizeOfRaises, write_block)  # a block brings its sizes
    ],
)
@virtual
async def test_nothing_is_accepted_and_the_writer_goes_on(sink: type[FakeSink], call: Write) -> None:
    destination = FakeDestination()
    one_by_one = call in (write, write_nowait)
    bad = FakeEntry("bad", 1, BAD)
    async with sink(destination).open(small()) as writer:
        await call(writer, entries(1, 2, route="a"))
        before, held = writer.statistics(), writer.snapshot_state()
        for given in [[bad]] if one_by_one else [[bad], [*entries(11, 12, route="a"), bad], [bad, FakeEntry(13)]]:
            with pytest.raises(LookupError):
                await call(writer, given)
            assert writer.statistics() == before
            assert writer.snapshot_state() == held
        engine = writer._engine
        assert (engine.waiting_count, engine.size_in_bytes, engine.next_sequence) == (2, 2, 2)
        await call(writer, entries(3, 4, route="a"))
        await call(writer, entries(5, 6, route="b"))
    assert stored(destination) == [1, 2, 3, 4, 5, 6]


@virtual
async def test_a_sink_without_routes_whose_scope_raises_accepts_nothing() -> None:
    class Sink(FakeSink):
        route_of = AsyncSink.route_of
        asked = 0

        def scope_of(self, route: Hashable | None) -> Hashable | None:
            self.asked += 1
            if self.asked == 1:
                raise LookupError("no such scope")
            return route

    destination = FakeDestination()
    async with Sink(destination).open(small()) as writer:
        with pytest.raises(LookupError):
            await writer.write(FakeEntry(1))
        assert writer.statistics().accepted == 0
        await writer.write(FakeEntry(2))
    assert stored(destination) == [2]


@pytest.mark.parametrize("sink", [RouteOfRaises, ScopeOfRaises])
@virtual
async def test_restored_entries_stay_in_the_snapshot_if_the_sink_raises_for_one_of_them(sink: type[FakeSink]) -> None:
    state = BufferedRequestState((FakeEntry(1), FakeEntry(2, 1, BAD)), (1, 1))
    writer = sink(FakeDestination()).open(small(), states=[state])
    with pytest.raises(LookupError):
        await writer.__aenter__()
    assert writer.snapshot_state() == [state]
    with pytest.raises(WriterClosedError):
        await writer.write(FakeEntry(3))
