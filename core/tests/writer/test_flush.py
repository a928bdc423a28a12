"""What a flush waits for."""

from __future__ import annotations

import anyio
import pytest

from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


@virtual
async def test_flush_false_waits_for_what_is_in_flight_and_builds_no_batch() -> None:
    destination = FakeDestination([Step(latency_s=3.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 4))
        await writer.flush(end_of_input=False)
        assert anyio.current_time() == 3.0
        assert batches(destination) == [[1, 2, 3]]
        assert writer.statistics().buffered_entries == 1


@virtual
async def test_flush_false_waits_for_no_request_that_started_after_its_call() -> None:
    destination = FakeDestination([Step(latency_s=3.0), Step(latency_s=9.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
        await writer.flush(end_of_input=False)
        assert anyio.current_time() == 3.0
        await settled()
        assert len(destination.in_flight) == 1


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.DISCONNECTED, Fault.PARTLY_THROTTLED, Fault.HANGING])
@virtual
async def test_flush_false_ends_with_the_first_ending_whatever_it_is(fault: Fault) -> None:
    destination = FakeDestination()
    destination.script([], then=Step(fault, 3.0))
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=False)
        assert anyio.current_time() == (10.0 if fault is Fault.HANGING else 3.0)
        assert writer.statistics().unacknowledged == 3
        destination.script([])


@virtual
async def test_flush_false_returns_at_once_when_nothing_is_in_flight() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1))
        await writer.flush(end_of_input=False)
        assert anyio.current_time() == 0.0
        assert batches(destination) == []


@virtual
async def test_flush_true_drains_with_all_the_concurrency_that_the_limits_allow() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 99)
    async with FakeSink(destination).open(small(max_in_flight_requests=5)) as writer:
        await writer.write_many(entries(1, 14))
        await writer.flush(end_of_input=True)
        assert anyio.current_time() == 1.0
        assert writer.statistics().unacknowledged == 0
    assert destination.peak_in_flight == 5


@virtual
async def test_flush_true_covers_what_was_accepted_before_the_call_and_no_more() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 9)
    async with FakeSink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1))

        async def write_later() -> None:
            await anyio.sleep(0.5)
            await writer.write(FakeEntry(2))

        async with anyio.create_task_group() as others:
            others.start_soon(write_later)
            await writer.flush(end_of_input=True)
            assert anyio.current_time() == 1.0
        assert batches(destination) == [[1]]


@virtual
async def test_flush_true_waits_for_entries_in_a_backoff_of_their_own() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, retry_after_s=8.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=True)
        assert anyio.current_time() == 8.0
    assert stored(destination) == [2, 3, 1]


@virtual
async def test_flushes_leave_the_age_timer_armed() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1))
        await writer.flush(end_of_input=True)
        await anyio.sleep(3.0)
        await writer.write(FakeEntry(2))
        await anyio.sleep(3.0)
        assert [each.started_s for each in destination.requests] == [0.0, 5.0]


@virtual
async def test_a_cancelled_flush_takes_back_its_wish() -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 4))
        with anyio.move_on_after(1.0):
            await writer.flush(end_of_input=True)
        await anyio.sleep(1.5)
        assert batches(destination) == [[1, 2, 3]]
        assert writer.statistics().unacknowledged == 1


@virtual
async def test_flushes_of_several_tasks_all_end() -> None:
    destination = FakeDestination([Step(latency_s=1.0), Step(Fault.THROTTLED, 1.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 10))
        async with anyio.create_task_group() as others:
            for end_of_input in (True, False, True, False):
                others.start_soon(writer.flush, end_of_input)
        assert writer.statistics().unacknowledged == 0
