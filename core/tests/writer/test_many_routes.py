"""Routes come and go by the thousand; what they leave behind is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink import RateLimit, RequestInfo, ResultInfo
from asyncsink.limits import NoRateLimitingStrategy
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import settled, small, stored

MANY = [FakeEntry(number, route=number) for number in range(2000)]


class One(NoRateLimitingStrategy):
    """One request at a time; counts how often it is asked."""

    asked = 0

    def __init__(self) -> None:
        super().__init__()
        self._in_flight = 0

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._in_flight += 1

    def register_completed_request(self, info: ResultInfo) -> None:
        self._in_flight -= 1

    def should_block(self, info: RequestInfo) -> bool:
        One.asked += 1
        return self._in_flight > 0


def one_scope(destination: FakeDestination) -> FakeSink:
    return FakeSink(destination, scope_of=lambda route: "all")


@virtual
async def test_thousands_of_routes_of_a_scope_in_backoff_fill_the_buffer_and_end() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, retry_after_s=20.0)])
    config = small(max_batch_size=1, max_in_flight_requests=4, max_buffered_requests=1500)
    async with one_scope(destination).open(config) as writer:
        await writer.write(MANY[0])
        await settled()
        await writer.write_many(MANY[1:])
        await writer.flush(end_of_input=True)
        assert len(writer._engine.lanes) == 0
    assert sorted(stored(destination)) == [*range(2000)]


@virtual
async def test_thousands_of_routes_that_are_not_due_leave_a_full_buffer_while_the_scope_rests() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, retry_after_s=20.0)] * 3)
    async with one_scope(destination).open(small(max_buffered_requests=300)) as writer:
        await writer.write_many(MANY)
        await writer.flush(end_of_input=True)
        assert len(writer._engine.lanes) == 0
    assert sorted(stored(destination)) == [*range(2000)]


@pytest.mark.parametrize("sink", [one_scope, FakeSink], ids=["one scope", "a scope each"])
@virtual
async def test_lanes_of_one_entry_are_dropped_when_they_are_empty(sink: Any) -> None:
    destination = FakeDestination()
    config = small(max_batch_size=1, max_in_flight_requests=4, max_buffered_requests=100)
    async with sink(destination).open(config) as writer:
        most = 0
        for entry in MANY:
            await writer.write(entry)
            most = max(most, len(writer._engine.lanes))
        await writer.flush(end_of_input=True)
        engine = writer._engine
        assert (engine.lanes, engine.lanes.scopes, engine.ready) == ({}, {}, {})
        assert most <= 105, "those in the buffer and those in flight"
    assert sorted(stored(destination)) == [*range(2000)]


@virtual
async def test_a_lane_lives_while_an_entry_of_it_waits_alone_and_goes_with_it() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, retry_after_s=7.0)])
    async with FakeSink(destination).open(small(max_batch_size=1)) as writer:
        await writer.write(FakeEntry(1, route="a"))
        await writer.flush(end_of_input=True)
        assert writer._engine.lanes == {}
    assert stored(destination) == [1]


@virtual
async def test_a_strategy_that_blocks_one_lane_of_a_scope_is_not_asked_of_a_thousand_more() -> None:
    destination, One.asked = FakeDestination(), 0
    config = small(
        max_batch_size=10,
        max_in_flight_requests=4,
        max_buffered_requests=3000,
        rate_limit=RateLimit.custom(f"{__name__}:One"),
    )
    async with one_scope(destination).open(config) as writer:
        await writer.write_many(MANY)
        await writer.flush(end_of_input=True)
    assert sorted(stored(destination)) == [*range(2000)]
    assert destination.peak_in_flight == 1
    assert One.asked < 100 * len(MANY)
