"""A request has its time, all of it, and no other request has to pay for it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import RequestEntries, RequestResult
from asyncsink_testing import Ending, FakeClient, FakeDestination, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, small, stored


@virtual
async def test_a_request_is_cut_at_its_own_deadline() -> None:
    destination = FakeDestination([Step(Fault.HANGING), Step(latency_s=4.0), Step(Fault.HANGING)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(1.0)
        await writer.write_many(entries(4, 6))
        await anyio.sleep(5.0)
        await writer.write_many(entries(7, 9))
    first, second, third = destination.requests[:3]
    assert (first.ended_s, first.ending) == (10.0, Ending.CUT)
    assert (second.ended_s, second.ending) == (5.0, Ending.ANSWERED)
    assert (third.started_s, third.ended_s, third.ending) == (6.0, 16.0, Ending.CUT)
    assert sorted(stored(destination)) == [*range(1, 10)]


@pytest.mark.parametrize("round_", range(8))
@virtual
async def test_an_answer_at_the_very_deadline_does_not_cut_the_next_request(round_: int) -> None:
    """The timer may cancel a worker whose answer has come: the next request in its hands must live on.

    Which of both runs first is trio's choice; in eight rounds each happens.
    """
    destination = FakeDestination([Step(latency_s=10.0), Step(latency_s=9.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
        await writer.flush(end_of_input=True)
    assert [each.ending for each in destination.requests[1:]] == [Ending.ANSWERED] * (len(destination.requests) - 1)
    assert sorted(set(stored(destination))) == [*range(1, 7)]


@pytest.mark.parametrize("round_", range(8))
@virtual
async def test_two_answers_and_two_deadlines_in_one_instant_lose_nothing(round_: int) -> None:
    destination = FakeDestination([Step(latency_s=10.0)] * 4 + [Step(latency_s=9.99)] * 8)
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 18))
    assert set(stored(destination)) == set(range(1, 19))
    cut = [each for each in destination.requests if each.ending is Ending.CUT]
    assert [str(each) for each in cut if each.ended_s - each.started_s < 9.999] == []


class Prompted(FakeSink):
    """Answers each request when its event is set, and keeps what was submitted."""

    answers: dict[Any, anyio.Event]
    submitted: list[tuple[str, int]]

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        self.submitted.append((entries.id, entries.attempt))
        await self.answers[entries[0].name].wait()
        return RequestResult.OK


@pytest.mark.parametrize("round_", range(16))
@virtual
async def test_answer_and_cancellation_in_one_turn_do_not_cut_the_next_request(round_: int) -> None:
    """A cancelled scope stays cancelled: a worker that goes on in it would cut whatever it is handed next.

    trio draws which of the two comes first; in sixteen rounds both do.
    """
    sink = Prompted(FakeDestination())
    sink.answers, sink.submitted = {1: anyio.Event(), 4: anyio.Event()}, []
    sink.answers[4].set()

    async def answer() -> None:
        await anyio.sleep_until(10.0)
        sink.answers[1].set()

    async with sink.open(small()) as writer, anyio.create_task_group() as others:
        await writer.write_many(entries(1, 6))
        others.start_soon(answer)
        await writer.flush(end_of_input=True)
    assert len(set(sink.submitted)) == len(sink.submitted)
    assert writer.statistics().requests == len(sink.submitted)


@virtual
async def test_a_late_answer_is_used_if_nothing_was_sent_again() -> None:
    # The connector cannot be cancelled for 12 s; Retry-After of another request holds the resend back until 21 s.
    destination = FakeDestination([Step(latency_s=12.0, uncut_s=12.5), Step(Fault.THROTTLED, 8.0, retry_after_s=12.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(1.0)
        await writer.write_many(entries(4, 6))
        await anyio.sleep(12.0)
        assert writer.statistics().acknowledged == 3
        await writer.flush(end_of_input=True)
    assert batches(destination) == [[1, 2, 3], [4, 5, 6], [4, 5, 6]]


@virtual
async def test_a_late_answer_is_ignored_if_the_request_was_sent_again() -> None:
    destination = FakeDestination([Step(latency_s=14.0, uncut_s=15.0), Step(Fault.THROTTLED, 5.0, retry_after_s=1.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=True)
        statistics = writer.statistics()
        assert (statistics.acknowledged, statistics.unacknowledged, statistics.size_in_bytes) == (3, 0, 0)
    assert [each.attempt for each in destination.requests] == [1, 2, 3]
    assert len({each.id for each in destination.requests}) == 1


@virtual
async def test_a_hanging_scope_leaves_a_slot_to_the_others() -> None:
    destination = FakeDestination()

    class Faults:
        def next_step(self, request: Any) -> Step:
            return Step(Fault.HANGING) if request.route == "dead" else Step(latency_s=0.1)

    destination.faults = Faults()
    sink = FakeSink(destination)
    with anyio.move_on_after(9.0):
        async with sink.open(small(max_in_flight_requests=3, max_buffered_requests=100)) as writer:
            await writer.write_many(entries(31, 33, route="alive"))
            await writer.write_many(entries(1, 30, route="dead"))
            await writer.write_many(entries(34, 60, route="alive"))
            await anyio.sleep(8.0)
            dead = [each for each in destination.in_flight.values() if each.route == "dead"]
            assert len(dead) == 2
            assert sorted(stored(destination)) == [*range(31, 61)]
            await writer.flush(end_of_input=True)


@virtual
async def test_with_one_slot_the_scopes_take_turns() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 20)
    async with FakeSink(destination).open(small(max_buffered_requests=100)) as writer:
        await writer.write_many([*entries(1, 9, route="a"), *entries(10, 18, route="b")])
    routes = [str(each.route) for each in destination.requests]
    assert sorted(routes[:2]) == ["a", "b"]
    assert sorted(routes[2:4]) == ["a", "b"]
    assert destination.peak_in_flight == 1
