"""An answer that stores its entries and asks for a pause: the whole scope waits, and nothing has failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from asyncsink import FatalRequestError, RequestEntries, RequestResult, RetryPolicy, WriterInitContext
from asyncsink_testing import FakeClient, FakeDestination, FakeSink, Fault, Step
from asyncsink_testing.clients import FreshClients
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, small, stored


class Pacing(FakeSink):
    """Asks for a pause with each of its first answers that refuses nothing as a whole."""

    pauses: tuple[Any, ...] = ()

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        result = await super().submit_request_entries(entries, client)
        asked, self.pauses = self.pauses[:1], self.pauses[1:]
        return replace(result, pause_s=asked[0]) if asked else result


def pacing(destination: FakeDestination, *pauses: Any, **options: Any) -> Pacing:
    sink = Pacing(destination, **options)
    sink.pauses = pauses
    return sink


def starts(destination: FakeDestination) -> list[float]:
    return [each.started_s for each in destination.requests]


def test_an_answer_asks_for_no_pause_unless_it_says_so() -> None:
    assert RequestResult.OK.pause_s is None
    assert RequestResult().pause_s is None


@virtual
async def test_nothing_is_sent_before_the_pause_has_ended() -> None:
    destination = FakeDestination([Step(latency_s=1.0)])
    async with pacing(destination, 20.0).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(2.0)
        await writer.write_many(entries(4, 9))
        await anyio.sleep(10.0)
        assert len(destination.requests) == 1
    assert starts(destination) == [0.0, 21.0, 21.0]
    assert sorted(stored(destination)) == [*range(1, 10)]


@virtual
async def test_a_pause_costs_no_failure_and_no_try() -> None:
    destination = FakeDestination()
    config = small(retry=RetryPolicy(timeout_s=15.0, max_attempts=1, retry_after_cap_s=50.0))
    async with pacing(destination, 40.0, 40.0).open(config) as writer:
        await writer.write_many(entries(1, 9))
        await writer.flush(end_of_input=True)
        told = writer.statistics()
    assert (told.acknowledged, told.retried_entries, told.throttled_entries, told.failed_requests) == (9, 0, 0, 0)
    assert starts(destination) == [0.0, 40.0, 80.0]


@virtual
async def test_a_pause_is_capped() -> None:
    destination = FakeDestination()
    async with pacing(destination, 1e9).open(small()) as writer:
        await writer.write_many(entries(1, 6))
    assert starts(destination) == [0.0, 50.0]


@pytest.mark.parametrize("pause_s", [0.0, -5.0, float("nan")])
@virtual
async def test_a_pause_of_no_length_is_none(pause_s: float) -> None:
    destination = FakeDestination()
    async with pacing(destination, pause_s).open(small()) as writer:
        await writer.write_many(entries(1, 6))
    assert starts(destination) == [0.0, 0.0]


@virtual
async def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    destination = FakeDestination([Step(latency_s=1.0), Step(latency_s=2.0)])
    async with pacing(destination, 20.0, 3.0).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(0.5)
        await writer.write_many(entries(4, 9))
    assert starts(destination) == [0.0, 0.5, 21.0]


@virtual
async def test_what_is_answered_entry_by_entry_may_ask_for_a_pause_too() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 1)])
    async with pacing(destination, 20.0).open(small()) as writer:
        await writer.write_many(entries(1, 6))
    assert starts(destination)[:2] == [0.0, 20.0]
    assert sorted(stored(destination)) == [1, 2, 3, 4, 5, 6]


@virtual
async def test_a_late_answer_that_asks_for_a_pause_is_heeded() -> None:
    # Throttled meanwhile, so that nothing is sent again before the late answer comes.
    destination = FakeDestination([Step(latency_s=12.0, uncut_s=13.0), Step(Fault.THROTTLED, 8.0, retry_after_s=12.0)])
    async with pacing(destination, 40.0).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(1.0)
        await writer.write_many(entries(4, 6))
    assert batches(destination) == [[1, 2, 3], [4, 5, 6], [4, 5, 6]]
    assert starts(destination) == [0.0, 1.0, 52.0]


@virtual
async def test_another_scope_goes_on() -> None:
    destination = FakeDestination([Step(latency_s=1.0)])
    async with pacing(destination, 20.0).open(small(max_in_flight_requests=3)) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await anyio.sleep(2.0)
        await writer.write_many(entries(4, 6, route="b") + entries(7, 9, route="a"))
        await anyio.sleep(10.0)
        assert batches(destination) == [[1, 2, 3], [4, 5, 6]]
    assert starts(destination) == [0.0, 2.0, 21.0]


@virtual
async def test_routes_of_one_scope_wait_together() -> None:
    destination = FakeDestination([Step(latency_s=1.0)])
    async with pacing(destination, 20.0, scope_of=lambda route: "one").open(small(max_in_flight_requests=3)) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await anyio.sleep(2.0)
        await writer.write_many(entries(4, 6, route="b"))
        await anyio.sleep(10.0)
        assert batches(destination) == [[1, 2, 3]]
    assert starts(destination) == [0.0, 21.0]


@virtual
async def test_writers_that_share_the_scope_wait_with_it() -> None:
    destination, clients = FakeDestination(), FreshClients()
    sink = pacing(destination, 20.0, config=small())
    async with sink.create_writer(WriterInitContext(writer_id=1, clients=clients)) as first:
        async with sink.create_writer(WriterInitContext(writer_id=2, clients=clients)) as second:
            await first.write_many(entries(1, 3))
            await second.write_many(entries(4, 6))
            await anyio.sleep(10.0)
            assert batches(destination) == [[1, 2, 3]]
    assert starts(destination) == [0.0, 20.0]


@pytest.mark.parametrize("fault", [Fault.OK, Fault.PARTLY_FAILED])
@virtual
async def test_a_pause_that_is_no_number_fails_the_writer_and_costs_no_entry(fault: Fault) -> None:
    destination = FakeDestination([fault])
    with pytest.raises(FatalRequestError, match="TypeError"):
        async with pacing(destination, "soon").open(small()) as writer:
            await writer.write_many(entries(1, 6))
    told = writer.statistics()
    assert told.accepted == told.acknowledged + told.unacknowledged == 6
