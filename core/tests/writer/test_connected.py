"""A sink that learns its routes and the limit of an entry from the client, before anything comes in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSink,
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    BufferedRequestState,
    ConfigurationError,
    ElementConverter,
    Failure,
    InitContext,
    ListBlock,
    OversizedEntryError,
    RequestEntries,
    RequestResult,
    Schema,
    WriterClosedError,
)
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink, Step
from asyncsink_testing.destination import INTERNAL
from asyncsink_testing.fake_sink import IdentityConverter
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


@dataclass(frozen=True)
class Service:
    """What the service tells of itself once there is a connection."""

    limit: int | None = None
    routes: Mapping[Hashable, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TellingClient(FakeClient):
    service: Service


class Learning(FakeSink):
    """Takes routes and limit from its client, and notes the order of what it is asked."""

    def __init__(self, service: Service) -> None:
        super().__init__(FakeDestination())
        self.service, self.known = service, Service()
        self.steps: list[str] = []
        self.refusal: Exception | None = None

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[FakeClient]:
        return self._telling()

    @asynccontextmanager
    async def _telling(self) -> AsyncIterator[FakeClient]:
        await anyio.sleep(0.01)
        self.steps.append("client")
        try:
            yield TellingClient(self.destination, 1, self.service)
        finally:
            self.steps.append("client given back")

    def connected(self, client: FakeClient) -> None:
        assert isinstance(client, TellingClient)
        self.steps.append("connected")
        if self.refusal is not None:
            raise self.refusal
        self.known = client.service

    def max_record_size_in_bytes(self, config: AsyncSinkWriterConfig) -> int:
        self.steps.append("limit")
        told = self.known.limit
        return super().max_record_size_in_bytes(config) if told is None else told

    def route_of(self, entry: Any) -> Hashable | None:
        self.steps.append(f"route of {entry.name}")
        return self.known.routes.get(entry.name)

    def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        return Opened(self.steps)


class Unrouted(Learning):
    """The writer gathers what is written one by one; with routes it looks at each entry at once."""

    route_of = AsyncSink.route_of


class Opened(IdentityConverter):
    def __init__(self, steps: list[str]) -> None:
        self.steps = steps

    def open(self, context: InitContext) -> None:
        self.steps.append("converter opened")


def state_of(*restored: FakeEntry) -> BufferedRequestState[FakeEntry]:
    return BufferedRequestState(restored, tuple(entry.size for entry in restored))


@virtual
async def test_the_sink_hears_of_its_client_before_anything_else_is_asked() -> None:
    sink = Learning(Service())
    async with sink.open(small(), [state_of(FakeEntry(1))]):
        await settled()
        assert sink.steps == ["client", "connected", "limit", "route of 1", "converter opened"]
    assert sink.steps[5:] == ["client given back"]


@virtual
async def test_restored_and_written_entries_take_the_routes_that_the_client_told() -> None:
    sink = Learning(Service(routes={1: "a", 2: "b", 3: "a", 4: "b"}))
    async with sink.open(small(max_in_flight_requests=2), [state_of(*entries(1, 3))]) as writer:
        await writer.write(FakeEntry(4))
    assert {each.route: [entry.name for entry in each.entries] for each in sink.destination.requests} == {
        "a": [1, 3],
        "b": [2, 4],
    }


Write = Callable[[AsyncSinkWriter[Any, Any], FakeEntry], Awaitable[None]]


async def write(writer: AsyncSinkWriter[Any, Any], entry: FakeEntry) -> None:
    await writer.write(entry)


async def write_nowait(writer: AsyncSinkWriter[Any, Any], entry: FakeEntry) -> None:
    writer.write_nowait(entry)


async def write_many(writer: AsyncSinkWriter[Any, Any], entry: FakeEntry) -> None:
    await writer.write_many([entry])


async def write_block(writer: AsyncSinkWriter[Any, Any], entry: FakeEntry) -> None:
    await writer.write_block(ListBlock([entry], [entry.size]))


@pytest.mark.parametrize("sink_type", [Learning, Unrouted])
@pytest.mark.parametrize("call", [write, write_nowait, write_many, write_block])
@pytest.mark.parametrize("limit", [40, 400], ids=["below the configured", "above the configured"])
@virtual
async def test_an_entry_may_have_as_many_bytes_as_the_sink_says_once_it_is_connected(
    call: Write, limit: int, sink_type: type[Learning]
) -> None:
    sink = sink_type(Service(limit=limit))
    async with sink.open(small()) as writer:
        await call(writer, FakeEntry(1, limit))
        with pytest.raises(
            OversizedEntryError, match=rf"{limit + 1} bytes, more than max_record_size_in_bytes = {limit};"
        ):
            await call(writer, FakeEntry(2, limit + 1))
        assert writer.statistics().accepted == 1
    assert stored(sink.destination) == [1]


@virtual
async def test_wait_available_leaves_room_for_the_largest_entry_that_the_sink_allows() -> None:
    sink = Learning(Service(limit=500))
    sink.destination = FakeDestination([Step(latency_s=3.0)])
    async with sink.open(small(max_buffered_size_in_bytes=1000, max_time_in_buffer_s=1.0)) as writer:
        await writer.write(FakeEntry(1, 450))
        await writer.write(FakeEntry(2, 100))
        await anyio.sleep(1.5)
        began_s = anyio.current_time()
        await writer.wait_available()
        assert anyio.current_time() - began_s == pytest.approx(2.5)


@pytest.mark.parametrize(("limit", "rejected"), [(40, True), (400, False)])
@virtual
async def test_a_replacement_is_held_to_the_limit_that_the_sink_says(limit: int, rejected: bool) -> None:
    class Replacing(Learning):
        async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
            if entries[0].size == 1:
                return RequestResult({0: Failure(INTERNAL, replacement=FakeEntry(1, 150))})
            return RequestResult.OK

    sink = Replacing(Service(limit=limit))
    writer = sink.open(small(on_rejected="drop", max_rejected=1.0))
    async with writer:
        await writer.write(FakeEntry(1))
    counted = writer.statistics()
    assert (counted.dropped, counted.acknowledged) == ((1, 0) if rejected else (0, 1))


@virtual
async def test_restored_entries_are_held_to_the_limit_that_the_sink_says() -> None:
    sink = Learning(Service(limit=400))
    async with sink.open(small(), [state_of(FakeEntry(1, 400))]):
        pass
    assert stored(sink.destination) == [1]

    state = state_of(FakeEntry(1, 41))
    narrow = Learning(Service(limit=40))
    writer = narrow.open(small(), [state])
    with pytest.raises(OversizedEntryError, match="41 bytes, more than max_record_size_in_bytes = 40"):
        await writer.__aenter__()
    keeps(writer, narrow, state)


@pytest.mark.parametrize("limit", [0, 1001])
@virtual
async def test_a_limit_that_no_request_could_hold_is_refused_with_both_names(limit: int) -> None:
    sink, state = Learning(Service(limit=limit)), state_of(FakeEntry(1))
    writer = sink.open(small(), [state])
    with pytest.raises(
        ConfigurationError,
        match=rf"Learning allows max_record_size_in_bytes = {limit}, .*max_batch_size_in_bytes = 1000",
    ):
        await writer.__aenter__()
    keeps(writer, sink, state)


@virtual
async def test_what_connected_raises_ends_the_writer() -> None:
    sink, state = Learning(Service()), state_of(*entries(1, 2))
    sink.refusal = LookupError("no such stream")
    writer = sink.open(small(), [state])
    with pytest.raises(LookupError, match="no such stream"):
        await writer.__aenter__()
    keeps(writer, sink, state)


@virtual
async def test_what_the_converter_raises_when_it_is_opened_gives_the_client_back() -> None:
    class Unopened(IdentityConverter):
        def open(self, context: InitContext) -> None:
            raise LookupError("no such schema")

    class Failing(Learning):
        def converter(self, schema: Schema | None) -> ElementConverter[Any, Any]:
            return Unopened()

    sink, state = Failing(Service()), state_of(*entries(1, 2))
    writer = sink.open(small(), [state])
    with pytest.raises(LookupError, match="no such schema"):
        await writer.__aenter__()
    keeps(writer, sink, state)


def keeps(writer: AsyncSinkWriter[Any, Any], sink: Learning, state: BufferedRequestState[FakeEntry]) -> None:
    """The writer is closed, has sent nothing, holds the whole state, and its client is given back."""
    assert writer.snapshot_state() == [state]
    counted = writer.statistics()
    assert (counted.restored, counted.buffered_entries) == (len(state.entries), len(state.entries))
    assert counted.size_in_bytes == state.size_in_bytes
    assert sink.steps[-1] == "client given back"
    assert batches(sink.destination) == []
    with pytest.raises(WriterClosedError):
        writer.write_nowait(FakeEntry(9))


@virtual
async def test_a_writer_closed_while_it_connects_does_not_ask_the_sink_and_gives_the_client_back() -> None:
    sink, state = Learning(Service()), state_of(FakeEntry(1))
    writer = sink.open(small(), [state])

    async def enter() -> None:
        with pytest.raises(WriterClosedError, match="closed while it connected"):
            await writer.__aenter__()

    async with anyio.create_task_group() as group:
        group.start_soon(enter)
        await settled()
        with pytest.warns(ResourceWarning, match="1 unacknowledged"):
            await writer.aclose()
    assert sink.steps == ["client", "client given back"]
    assert writer.snapshot_state() == [state]


@virtual
async def test_each_writer_of_a_sink_is_told_by_a_client_of_its_own() -> None:
    sink = Learning(Service(limit=40))
    async with sink.open(small()) as writer:
        with pytest.raises(OversizedEntryError):
            await writer.write(FakeEntry(1, 41))
        sink.service = Service(limit=50)
        async with sink.open(small()) as other:
            await other.write(FakeEntry(2, 50))
        with pytest.raises(OversizedEntryError):
            await writer.write(FakeEntry(1, 41))
    assert stored(sink.destination) == [2]
