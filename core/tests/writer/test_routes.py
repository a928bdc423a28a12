"""Routes and scopes: who shares a request, a rate limit, a backoff and a slot with whom; and keys within a route."""

from __future__ import annotations

from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import AsyncSinkWriter, ListBlock, RateLimit
from asyncsink.arrow import ArrowBlock
from asyncsink_testing import FakeDestination, FakeSink, Fault, Script, Step
from asyncsink_testing.history import SentRequest
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small, stored
from .keyed import KeyedEntry, KeyedSink, check_order, keyed, of, said
from .test_order import ALL_WRITES, Write

HOUR = Step(latency_s=3600.0)


def mixed(count: int, routes: str = "xyz", keys: str = "abcd") -> list[KeyedEntry]:
    return [KeyedEntry(name, keys[name % len(keys)], 1, routes[name % len(routes)]) for name in range(count)]


async def write_list_block(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    distinct = sorted({entry.route for entry in given}, key=str)
    routes = distinct, [distinct.index(entry.route) for entry in given]
    await writer.write_block(ListBlock(given, [1] * len(given), [entry.key for entry in given], routes))


async def write_arrow_block(writer: AsyncSinkWriter[Any, Any], given: list[KeyedEntry]) -> None:
    distinct = sorted({entry.route for entry in given}, key=str)
    batch = pa.RecordBatch.from_pylist(
        [{"name": entry.name, "key": entry.key, "route": entry.route} for entry in given]
    )
    await writer.write_block(
        ArrowBlock(
            batch,
            entry_of_row,
            [1] * len(given),
            [entry.key for entry in given],
            (distinct, [distinct.index(entry.route) for entry in given]),
        )
    )


def entry_of_row(batch: pa.RecordBatch, index: int) -> KeyedEntry:
    name, key, route = (column[index].as_py() for column in batch.columns)
    return KeyedEntry(name, key, 1, route)


EVERY_WRITE = [*ALL_WRITES[:-1], write_list_block, write_arrow_block]


class PerScope:
    """Steps for the requests of each scope; for the others, success."""

    def __init__(self, **steps: list[Step | Fault]) -> None:
        self._scripts = {scope: Script(each) for scope, each in steps.items()}

    def next_step(self, request: SentRequest) -> Step:
        script = self._scripts.get(str(request.scope))
        return Step() if script is None else script.next_step(request)


# ---- requests ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", EVERY_WRITE)
@virtual
async def test_entries_of_different_routes_never_share_a_request(call: Write) -> None:
    destination = FakeDestination([Fault.THROTTLED, Step.partly(Fault.PARTLY_FAILED, 0), Fault.DISCONNECTED])
    async with KeyedSink(destination).open(small(max_in_flight_requests=4)) as writer:
        await call(writer, mixed(50))
    for request in destination.requests:
        assert {entry.route for entry in request.entries} == {request.route}
    assert set(stored(destination)) == set(range(50))


@pytest.mark.parametrize("call", EVERY_WRITE)
@virtual
async def test_keys_keep_their_order_within_each_route(call: Write) -> None:
    partly = Step.partly(Fault.PARTLY_FAILED, 0, 2, latency_s=0.5)
    faults = PerScope(x=[Step(Fault.THROTTLED, 1.0), partly], y=[Step(Fault.DISCONNECTED, 1.0)], z=[partly, partly])
    destination = FakeDestination(faults)
    async with KeyedSink(destination).open(keyed(max_in_flight_requests=6)) as writer:
        await call(writer, mixed(80))
    assert {entry.name for entry in destination.stored} == set(range(80))
    check_order(destination)


@virtual
async def test_a_key_of_one_route_does_not_wait_for_the_same_key_of_another() -> None:
    destination = FakeDestination(PerScope(x=[HOUR]))
    config = keyed(request_timeout_s=7200.0, stall_timeout_s=None)
    async with KeyedSink(destination).open(config) as writer:
        await writer.write_many([*of("abc", route="x"), *of("abcabc", first=4, route="y")])
        await settled()
        assert sorted(said(destination)) == ["a1 b2 c3", "a4 b5 c6", "a7 b8 c9"]


@virtual
async def test_a_route_is_remembered_while_a_key_of_it_is_parked_and_forgotten_then() -> None:
    destination = FakeDestination(PerScope(x=[Step.partly(Fault.PARTLY_FAILED, 0, retry_after_s=20.0)]))
    async with KeyedSink(destination).open(keyed()) as writer:
        await writer.write_many(of("abc", route="x"))
        await anyio.sleep(1.0)
        assert list(writer._engine.lanes) == ["x"], "its key a waits for a backoff"
        await writer.write_many(of("abc", first=4, route="x"))
        await anyio.sleep(8.0)
        assert said(destination) == ["a1 b2 c3", "b5 c6"]
        await writer.flush(end_of_input=True)
        assert writer._engine.lanes == {}
    check_order(destination)


@virtual
async def test_a_snapshot_has_the_entries_of_all_routes_in_the_order_of_acceptance() -> None:
    faults = PerScope(x=[Step.partly(Fault.PARTLY_FAILED, 0, 1, 2, retry_after_s=9.0)], y=[Fault.DISCONNECTED, HOUR])
    given = mixed(20, routes="xy")
    writer = KeyedSink(FakeDestination(faults)).open(keyed(max_buffered_requests=50))
    async with writer:
        await writer.write_many(given)
        await settled()
        assert list(writer.snapshot_state()[0].entries) == given
        with pytest.warns(ResourceWarning):
            await writer.aclose()
    assert list(writer.snapshot_state()[0].entries) == given


# ---- scopes --------------------------------------------------------------------------------------------------


@virtual
async def test_a_dead_scope_does_not_stall_the_others_while_the_buffer_has_room() -> None:
    destination = FakeDestination(PerScope(dead=[HOUR] * 10))
    config = small(max_in_flight_requests=3, max_buffered_requests=100, request_timeout_s=600.0)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await writer.write_many(entries(101, 120, route="dead"))
        await settled()
        begin_s = anyio.current_time()
        for turn in range(20):
            await writer.write_many(entries(10 * turn + 1001, 10 * turn + 1009, route="a"))
            await settled()
        assert anyio.current_time() == begin_s
        assert len(stored(destination)) == 3 + 180
        assert len(destination.in_flight) == 2, "the dead scope has all slots but one"
        with pytest.warns(ResourceWarning):
            await writer.aclose()


@virtual
async def test_a_retry_after_holds_back_every_route_of_its_scope_and_no_other_scope() -> None:
    scopes = {"a1": "a", "a2": "a", "b": "b"}
    destination = FakeDestination(PerScope(a=[Step(Fault.THROTTLED, retry_after_s=30.0)]))
    sink = FakeSink(destination, scope_of=lambda route: scopes[str(route)])
    async with sink.open(small(max_in_flight_requests=4)) as writer:
        begin_s = anyio.current_time()
        await writer.write_many(entries(1, 3, route="a1"))
        await settled()
        await writer.write_many([*entries(4, 6, route="a2"), *entries(7, 9, route="b")])
        await writer.flush(end_of_input=True)
        started = {request.route: request.started_s - begin_s for request in destination.requests}
        assert started["b"] == 0.0
        assert min(started["a1"], started["a2"]) >= 30.0


@virtual
async def test_each_scope_has_a_rate_limit_of_its_own() -> None:
    steps: list[Step | Fault] = [Step(Fault.THROTTLED)] * 3
    destination = FakeDestination(PerScope(a=steps))
    config = small(max_in_flight_requests=4, rate_limit=RateLimit.aimd(initial=8, ceiling=8, increase=1, factor=0.5))
    async with FakeSink(destination).open(config) as writer:
        for turn in range(3):
            await writer.write_many(entries(10 * turn + 1, 10 * turn + 3, route="a"))
            await writer.write_many(entries(10 * turn + 4, 10 * turn + 6, route="b"))
            await anyio.sleep(6.0)
    sizes = {scope: [len(each.entries) for each in destination.requests if each.scope == scope] for scope in "ab"}
    assert sizes["b"] == [3, 3, 3]
    assert min(sizes["a"]) == 1, "three throttles have halved 8 three times"


@virtual
async def test_two_scopes_take_turns_at_the_only_slot() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 8)
    config = small(max_buffered_requests=30)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([*entries(1, 12, route="a"), *entries(13, 24, route="b")])
    routes = [request.route for request in destination.requests]
    assert routes == ["a", "b"] * 4


class WithoutRoutes(KeyedSink):
    """Has routes by an option alone, which is not set."""

    @property
    def has_routes(self) -> bool:
        return False

    def route_of(self, entry: KeyedEntry) -> str | None:
        raise AssertionError("asked for the route of an entry though there are none")


@virtual
async def test_a_sink_that_says_it_has_no_routes_is_asked_for_none() -> None:
    sink = WithoutRoutes(FakeDestination())
    async with sink.open(small(max_batch_size=6)) as writer:
        await writer.write_many(mixed(6))
    assert [len(request.entries) for request in sink.destination.requests] == [6]
