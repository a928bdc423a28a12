"""What becomes of entries whose request failed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import Failure, FailureKind, RateLimit, RequestEntries, RequestResult, RetryPolicy
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, small, stored


@virtual
async def test_failed_entries_go_before_all_that_was_accepted_later() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_THROTTLED, 0, 2, latency_s=1.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
    assert batches(destination) == [[1, 2, 3], [1, 3, 4], [5, 6]]


@virtual
async def test_concurrent_failures_keep_the_order_of_acceptance() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 1.0), Step(Fault.THROTTLED, 1.0), Step(Fault.THROTTLED, 1.0)])
    config = small(max_in_flight_requests=3, rate_limit=RateLimit.aimd(initial=9, factor=0.9))
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 9))
    assert sorted(batches(destination)[3:]) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


@virtual
async def test_a_partial_failure_is_cut_anew_under_a_new_id() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_THROTTLED, 1)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
    first, second = destination.requests
    assert names(second) == [2]
    assert second.id != first.id
    assert second.attempt == 1


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.ANSWER_LOST, Fault.DISCONNECTED, Fault.HANGING])
@virtual
async def test_an_unknown_outcome_is_sent_again_sealed(fault: Fault) -> None:
    destination = FakeDestination([fault])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 2))
        await writer.flush(end_of_input=False)
        with anyio.move_on_after(5.0):
            await writer.flush(end_of_input=True)
        await writer.write_many(entries(3, 5))
    first, second, *_ = destination.requests
    assert (second.id, names(second), second.attempt) == (first.id, names(first), 2)


@virtual
async def test_a_sealed_request_goes_before_the_buffer_and_whatever_the_thresholds() -> None:
    destination = FakeDestination([Step(Fault.DISCONNECTED, 1.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 5))
        await anyio.sleep(3.0)
        assert batches(destination) == [[1, 2, 3], [1, 2, 3]]
    assert batches(destination)[2] == [4, 5]


@virtual
async def test_a_sealed_request_stays_sealed_when_it_is_throttled_as_a_whole_or_by_every_index() -> None:
    by_index = Step(Fault.PARTLY_THROTTLED)
    destination = FakeDestination([Fault.DISCONNECTED, Fault.THROTTLED, by_index])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
    again = destination.requests[:4]
    assert [(each.id, names(each), each.attempt) for each in again] == [
        (again[0].id, [1, 2, 3], attempt) for attempt in (1, 2, 3, 4)
    ]


@virtual
async def test_a_mixed_answer_unseals() -> None:
    destination = FakeDestination([Fault.DISCONNECTED, Step.partly(Fault.PARTLY_THROTTLED, 1)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
    first, second, third, *_ = destination.requests
    assert second.id == first.id
    assert names(third) == [2, 4, 5]
    assert third.id != first.id


@virtual
async def test_a_throttled_request_is_not_sealed() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 0.5)])
    config = small(rate_limit=RateLimit.aimd(initial=3, ceiling=10, factor=0.5))
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 3))
    first, second, third = destination.requests
    assert names(first) == [1, 2, 3]
    assert [names(second), names(third)] == [[1, 2], [3]], "the budget has shrunk to 2: cut anew"
    assert second.id != first.id


@virtual
async def test_a_sealed_request_larger_than_the_budget_goes_when_nothing_is_in_flight() -> None:
    destination = FakeDestination([Fault.DISCONNECTED, Fault.DISCONNECTED, Fault.DISCONNECTED])
    config = small(rate_limit=RateLimit.aimd(initial=3, ceiling=10, factor=0.5))
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 5))
    assert batches(destination)[:4] == [[1, 2, 3]] * 4
    assert stored(destination) == [1, 2, 3, 4, 5]


@virtual
async def test_with_one_request_in_flight_total_order_holds() -> None:
    faults: list[Step | Fault] = [
        Fault.THROTTLED,
        Fault.DISCONNECTED,
        Step.partly(Fault.PARTLY_THROTTLED, 0),
        Fault.REFUSED,
    ]
    destination = FakeDestination(faults * 5)
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 60))
    seen = [name for request in destination.requests for name in names(request) if request.stored]
    assert sorted(set(seen)) == [*range(1, 61)]
    firsts = [names(request)[0] for request in destination.requests]
    assert firsts == sorted(firsts)


class Replacing(FakeSink):
    """Its destination answers the first request with a replacement of its second entry."""

    replacement: Any = None
    asked = False

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        await super().submit_request_entries(entries, client)
        if self.asked:
            return RequestResult.OK
        self.asked = True
        return RequestResult({1: Failure("again", kind=FailureKind.RETRYABLE, replacement=self.replacement)})


@virtual
async def test_a_replacement_takes_the_place_of_its_entry_and_is_measured_again() -> None:
    destination = FakeDestination()
    sink = Replacing(destination)
    sink.replacement = FakeEntry("2 again", 7)
    config = small(retry=RetryPolicy(initial_backoff_s=0.0, max_backoff_s=0.0))
    async with sink.open(config) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(0.0)
        await anyio.wait_all_tasks_blocked()
        assert writer.snapshot_state()[0].sizes == (7,)
        await writer.write(FakeEntry(4))
    assert batches(destination) == [[1, 2, 3], ["2 again", 4]]
