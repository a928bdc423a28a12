"""Writers that have a limiter in common, one after the other and at the same time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import (
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    DestinationUnavailableError,
    RateLimit,
    RetryPolicy,
    WriterInitContext,
)
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.clients import FreshClients
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


def sharing(
    clients: FreshClients,
    destination: FakeDestination,
    config: AsyncSinkWriterConfig,
    number: int = 0,
    states: Any = (),
) -> AsyncSinkWriter[Any, Any]:
    context = WriterInitContext(writer_id=number, clients=clients)
    return FakeSink(destination, config=config).create_writer(context, states)


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.THROTTLED, Fault.HANGING])
@pytest.mark.parametrize("restores", [True, False], ids=["with its state", "without a state"])
@virtual
async def test_a_successor_of_a_writer_that_gave_up_has_the_destinations_whole_time_again(
    fault: Fault, restores: bool
) -> None:
    destination, clients = FakeDestination(), FreshClients()
    destination.script([], then=Step(fault, 0.5))
    config = small(retry=RetryPolicy(timeout_s=60.0, initial_backoff_s=0.1, max_backoff_s=5.0))
    states: Any = ()
    for life in range(3):
        started_s = anyio.current_time()
        with pytest.raises(DestinationUnavailableError, match=r"retry.timeout_s = 60"):
            async with sharing(clients, destination, config, life, states) as writer:
                await writer.write(FakeEntry(life))
        assert 60.0 <= anyio.current_time() - started_s <= 85.0
        held = [entry.name for entry in writer.snapshot_state()[0].entries]
        assert held == ([*range(life + 1)] if restores else [life])
        states = writer.snapshot_state() if restores else ()
    assert len(clients.cache) == 1
    destination.script([])
    async with sharing(clients, destination, config, 9, states) as writer:
        await writer.write(FakeEntry(9))
    assert stored(destination) == ([0, 1, 2, 9] if restores else [9])


def room_for_one() -> AsyncSinkWriterConfig:
    """Two requests at once, and a budget for one batch in all."""
    return small(max_in_flight_requests=2, rate_limit=RateLimit.aimd(initial=3, ceiling=3))


@virtual
async def test_a_completion_of_one_writer_lets_the_other_go_on_within_the_common_limit() -> None:
    destination, clients, config = FakeDestination(), FreshClients(), room_for_one()
    destination.script([], then=Step(latency_s=1.0))
    async with sharing(clients, destination, config, 1) as one, sharing(clients, destination, config, 2) as two:
        await one.write_many(entries(1, 3))
        await two.write_many(entries(4, 6))
        await settled()
        assert batches(destination) == [[1, 2, 3]]
        await anyio.sleep(1.5)
        assert batches(destination) == [[1, 2, 3], [4, 5, 6]], "woken by the other's completion"
        async with anyio.create_task_group() as producers:
            producers.start_soon(one.write_many, entries(11, 40))
            producers.start_soon(two.write_many, entries(41, 70))
        await one.flush(end_of_input=True)
    assert sorted(stored(destination)) == [1, 2, 3, 4, 5, 6, *range(11, 71)]
    assert destination.peak_in_flight == 1
    assert len(clients.cache) == 1
    (limiter,) = clients.cache._limiters.values()
    assert (limiter.in_flight, limiter.waiting) == (0, {})
    ids = [each.id for each in destination.requests]
    assert len(set(ids)) == len(ids)


@virtual
async def test_closing_one_writer_lets_the_other_go_on() -> None:
    destination, clients, config = FakeDestination([Step(Fault.HANGING)]), FreshClients(), room_for_one()
    async with sharing(clients, destination, config, 1) as two:
        async with sharing(clients, destination, config, 2) as one:
            await one.write_many(entries(1, 3))
            await settled()
            await two.write_many(entries(4, 6))
            await settled()
            assert batches(destination) == [[1, 2, 3]]
            with pytest.warns(ResourceWarning, match="3 unacknowledged"):
                await one.aclose()
            await settled()
            assert stored(destination) == [4, 5, 6], "that a writer ends says nothing of the load"
            assert anyio.current_time() == 0.0
        await two.flush(end_of_input=True)


@virtual
async def test_a_deadline_of_one_writer_lets_the_other_go_on() -> None:
    destination, clients, config = FakeDestination([Step(Fault.HANGING)]), FreshClients(), room_for_one()
    async with sharing(clients, destination, config, 1) as one, sharing(clients, destination, config, 2) as two:
        await one.write_many(entries(1, 3))
        await settled()
        await two.write_many(entries(4, 6))
        await anyio.sleep_until(11.0)
        assert set(stored(destination)) == {*range(1, 7)}


@virtual
async def test_a_write_that_waits_for_room_wakes_when_the_other_writers_completion_sends_for_it() -> None:
    destination, clients = FakeDestination(), FreshClients()
    destination.script([Step(latency_s=2.0)], then=Step(latency_s=50.0))
    config = small(
        max_in_flight_requests=2,
        max_buffered_requests=4,
        request_timeout_s=100.0,
        rate_limit=RateLimit.aimd(initial=3, ceiling=3),
    )
    async with sharing(clients, destination, config, 1) as one, sharing(clients, destination, config, 2) as two:
        await one.write_many(entries(1, 3))
        await settled()
        await two.write_many(entries(11, 14))
        await two.write(FakeEntry(15))
        assert anyio.current_time() == 2.0
        await settled()
        assert batches(destination) == [[1, 2, 3], [11, 12, 13]]


@virtual
async def test_one_writer_is_given_the_outage_that_the_other_met() -> None:
    destination, clients = FakeDestination([Step(Fault.THROTTLED, retry_after_s=20.0)]), FreshClients()
    async with sharing(clients, destination, small(), 1) as one, sharing(clients, destination, small(), 2) as two:
        await one.write_many(entries(1, 3))
        await settled()
        await two.write_many(entries(4, 6))
        await anyio.sleep_until(19.9)
        assert len(destination.requests) == 1
    assert {each.started_s for each in destination.requests[1:]} == {20.0}


@virtual
async def test_a_writer_with_much_to_send_does_not_keep_the_common_limit_from_the_other() -> None:
    destination, clients = FakeDestination(), FreshClients()
    destination.script([], then=Step(latency_s=1.0))
    config = small(max_in_flight_requests=2, max_buffered_requests=100, rate_limit=RateLimit.aimd(initial=3, ceiling=3))
    async with sharing(clients, destination, config, 1) as one, sharing(clients, destination, config, 2) as two:
        await one.write_many(entries(1, 60))
        await settled()
        await two.write_many(entries(101, 106))
        await two.flush(end_of_input=True)
        await settled()
        assert batches(destination)[:5] == [[1, 2, 3], [101, 102, 103], [4, 5, 6], [104, 105, 106], [7, 8, 9]]
        await one.flush(end_of_input=True)


@virtual
async def test_a_failure_that_only_a_closed_writer_had_met_takes_no_time_from_the_other() -> None:
    destination, clients = FakeDestination(), FreshClients()
    config = small(retry=RetryPolicy(timeout_s=60.0, initial_backoff_s=0.1, max_backoff_s=5.0))
    async with sharing(clients, destination, config, 1) as two:
        await two.write(FakeEntry(0))
        await two.flush(end_of_input=True)
        destination.script([], then=Step(Fault.THROTTLED))
        async with sharing(clients, destination, config, 2) as one:
            await one.write_many(entries(1, 3))
            await anyio.sleep(1.0)
            with pytest.warns(ResourceWarning, match="3 unacknowledged"):
                await one.aclose()
        await anyio.sleep(3600.0)
        destination.script([Step(Fault.THROTTLED)], then=Step(Fault.OK))
        await two.write_many(entries(11, 13))
        await two.flush(end_of_input=True)
    assert stored(destination) == [0, 11, 12, 13]
