"""Small print of the writer: what is counted when, and what wakes whom."""

from __future__ import annotations

import anyio
import pytest

from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


@virtual
async def test_statistics_on_the_writers_own_thread_count_what_was_just_written() -> None:
    async with FakeSink(FakeDestination()).open(small()) as writer:
        for count in (1, 2):
            await writer.write(FakeEntry(count, 7))
            told = writer.statistics()
            assert (told.accepted, told.buffered_entries, told.size_in_bytes) == (count, count, 7 * count)
        writer.write_nowait(FakeEntry(3, 7))
        await settled()
        assert (writer.statistics().accepted, writer.statistics().acknowledged) == (3, 3)


@virtual
async def test_what_another_task_writes_during_the_leaving_flush_is_warned_of_and_stays_in_the_snapshot() -> None:
    destination = FakeDestination([Step(latency_s=2.0)])
    async with anyio.create_task_group() as others:
        with pytest.warns(ResourceWarning, match=r"\b2 unacknowledged"):  # noqa: PT031
            async with FakeSink(destination).open(small()) as writer:
                await writer.write_many(entries(1, 3))

                async def late() -> None:
                    await anyio.sleep(1.0)
                    await writer.write_many(entries(4, 5))

                others.start_soon(late)
    assert stored(destination) == [1, 2, 3]
    assert [entry.name for entry in writer.snapshot_state()[0].entries] == [4, 5]
    assert anyio.current_time() == 2.0


@virtual
async def test_an_entry_whose_backoff_outlives_the_age_timer_goes_when_its_backoff_ends() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 1, retry_after_s=7.0)])
    async with FakeSink(destination).open(small(max_time_in_buffer_s=5.0)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep_until(6.5)
        assert batches(destination) == [[1, 2, 3]]
        await writer.write(FakeEntry(4))
        await anyio.sleep_until(7.5)
        assert batches(destination) == [[1, 2, 3], [2, 4]]
        assert destination.requests[1].started_s == 7.0


@virtual
async def test_an_entry_whose_backoff_ends_before_the_age_timer_waits_for_it() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 1, retry_after_s=2.0)])
    async with FakeSink(destination).open(small(max_time_in_buffer_s=5.0)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep_until(6.0)
        assert batches(destination) == [[1, 2, 3], [2]]
        assert destination.requests[1].started_s == 5.0


@virtual
async def test_a_write_that_waits_for_room_wakes_when_another_tasks_flush_sends_for_it() -> None:
    destination = FakeDestination()
    destination.script([], then=Step(latency_s=9.0))
    config = small(max_in_flight_requests=4, max_buffered_requests=4, max_time_in_buffer_s=100.0)
    woken_s: list[float] = []
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        for number in range(4):
            await writer.write(FakeEntry(10 + number, route=number))

        async def wait() -> None:
            await writer.write(FakeEntry(20, route="a"))
            woken_s.append(anyio.current_time())

        async with anyio.create_task_group() as others:
            others.start_soon(wait)
            await anyio.sleep(1.0)
            assert woken_s == [], "four entries of four routes wait, none of them due"
            others.start_soon(writer.flush, True)
            await anyio.sleep(0.5)
            assert woken_s == [1.0]
