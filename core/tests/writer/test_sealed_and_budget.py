"""A sealed request cannot be made smaller; a budget can. And what else a budget that shrinks does."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import (
    DestinationUnavailableError,
    RateLimit,
    RateLimitingStrategy,
    RequestInfo,
    ResultInfo,
    RetryPolicy,
)
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, SentRequest, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, small


class Shrinking(RateLimitingStrategy):
    """A budget of ten entries in flight that is of two from the first failure on, for good."""

    def __init__(self) -> None:
        self.budget, self.in_flight = 10, 0

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self.in_flight += info.batch_size

    def register_completed_request(self, info: ResultInfo) -> None:
        self.in_flight -= info.batch_size
        self.budget = 2 if info.failed else self.budget

    def should_block(self, info: RequestInfo) -> bool:
        return self.in_flight + info.batch_size > self.budget

    @property
    def max_batch_size(self) -> int:
        return self.budget


class Limit(RateLimit):
    def make(self, config: object) -> Shrinking:
        return Shrinking()


class Trickle:
    """Breaks what holds entry 1 the first time; takes its time for all else."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s, self.broken = latency_s, False

    def next_step(self, request: SentRequest) -> Step:
        if 1 not in names(request):
            return Step(latency_s=self.latency_s)
        if self.broken:
            return Step()
        self.broken = True
        return Step(Fault.DISCONNECTED, 0.1)


def one_scope(destination: FakeDestination) -> FakeSink:
    return FakeSink(destination, scope_of=lambda route: "all")


def wide(**changes: Any) -> Any:
    return small(
        max_in_flight_requests=5,
        max_time_in_buffer_s=0.1,
        max_buffered_requests=1000,
        rate_limit=Limit(kind="aimd"),
        **changes,
    )


@virtual
async def test_a_sealed_request_larger_than_the_budget_goes_though_other_routes_trickle_on() -> None:
    destination = FakeDestination(Trickle(latency_s=1.0))
    async with one_scope(destination).open(wide()) as writer:
        for number in range(100, 160):  # overlapping: without the rule there is always one in flight
            await writer.write(FakeEntry(number, route=number % 7))
            await anyio.sleep(0.4)
            if number == 102:
                await writer.write_many(entries(1, 3, route="sealed"))
        again = [each for each in destination.requests if 1 in names(each)]
        assert [(each.id, each.attempt) for each in again] == [(again[0].id, 1), (again[0].id, 2)]
        assert again[1].started_s <= 5.0
        await writer.flush(end_of_input=True)
    assert names(again[1]) == [1, 2, 3]


@virtual
async def test_while_a_sealed_request_waits_for_the_budget_no_newer_one_of_its_scope_is_admitted() -> None:
    destination = FakeDestination(Trickle(latency_s=4.0))
    config = wide(retry=RetryPolicy(initial_backoff_s=0.0, max_backoff_s=0.0))
    async with one_scope(destination).open(config) as writer:
        await writer.write(FakeEntry(10, route="other"))
        await anyio.sleep(0.2)
        await writer.write_many(entries(1, 3, route="sealed"))
        await anyio.sleep(0.3)
        await writer.write(FakeEntry(11, route="third"))
        await writer.flush(end_of_input=True)
    assert batches(destination)[:3] == [[10], [1, 2, 3], [1, 2, 3]]
    assert [each.started_s for each in destination.requests[2:]] == [pytest.approx(4.1), pytest.approx(4.1)]


@virtual
async def test_the_time_of_a_sealed_request_is_judged_while_it_waits() -> None:
    destination = FakeDestination(Trickle(latency_s=9.0))
    config = wide(retry=RetryPolicy(timeout_s=5.0, initial_backoff_s=0.0, max_backoff_s=0.0))
    with pytest.raises(DestinationUnavailableError, match=r"retry.timeout_s = 5"):  # noqa: PT012
        async with one_scope(destination).open(config) as writer:
            await writer.write(FakeEntry(10, route="other"))
            await anyio.sleep_until(0.5)
            await writer.write_many(entries(1, 3, route="sealed"))
    assert batches(destination) == [[10], [1, 2, 3]], "the other one is under way until 9.1 s, and fills the budget"
    assert anyio.current_time() == pytest.approx(0.5 + 0.1 + 5.0)
    assert [entry.name for entry in writer.snapshot_state()[0].entries] == [10, 1, 2, 3]


@virtual
async def test_a_budget_that_shrinks_makes_the_other_lanes_of_its_scope_due_at_once() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, latency_s=1.0, retry_after_s=30.0)])
    config = small(max_in_flight_requests=3, max_time_in_buffer_s=100.0, rate_limit=Limit(kind="aimd"))
    async with one_scope(destination).open(config) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await writer.write_many(entries(11, 12, route="b"))
        await writer.write(FakeEntry(21, route="c"))
        await anyio.sleep_until(0.9)
        assert batches(destination) == [[1, 2, 3]]
        await anyio.sleep_until(2.0)
        assert batches(destination) == [[1, 2, 3], [11, 12]], "two are a batch now, one is not"
        assert destination.requests[1].started_s == 1.0
        await writer.flush(end_of_input=True)


@virtual
async def test_a_budget_that_shrinks_makes_the_open_tail_due_at_once() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, latency_s=1.0, retry_after_s=30.0)])
    config = small(max_in_flight_requests=3, max_time_in_buffer_s=100.0, rate_limit=Limit(kind="aimd"))
    async with FakeSink(destination).open(config) as writer:
        for entry in entries(1, 5):
            await writer.write(entry)
        await anyio.sleep_until(2.0)
        assert batches(destination) == [[1, 2, 3], [4, 5]]
        assert destination.requests[1].started_s == 1.0
        await writer.flush(end_of_input=True)


@virtual
async def test_a_ceiling_below_the_increase_is_kept() -> None:
    destination = FakeDestination()
    destination.script([Fault.THROTTLED], then=Step(latency_s=1.0))
    config = small(
        max_batch_size=1, max_in_flight_requests=9, max_buffered_requests=200, rate_limit=RateLimit.aimd(ceiling=5)
    )
    most = 0
    async with FakeSink(destination).open(config) as writer:
        for entry in entries(1, 150):
            await writer.write(entry)
            await anyio.sleep(0.1)
            most = max(most, destination.in_flight_entries)
        (scope,) = writer._engine.lanes.scopes.values()
        assert scope.limiter.strategy.max_batch_size == 5
    assert most == 5
