"""A writer that has something to do, and for long nothing is acknowledged or given up, fails with its counters."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import RateLimit, RequestInfo, ResultInfo, RetryPolicy, StalledError, WriterFailedError
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.limits import NoRateLimitingStrategy
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small, stored
from .rejected import SlowStore, broken, hold_that_it_adds_up, keeping

ENDLESS = RetryPolicy(max_attempts=10**9, timeout_s=50.0, initial_backoff_s=0.1, max_backoff_s=0.2)


class Never(NoRateLimitingStrategy):
    """Lets nothing go."""

    def delay_s(self, info: RequestInfo) -> float:
        return float("inf")

    def register_completed_request(self, info: ResultInfo) -> None:
        """Learns nothing."""


@virtual
async def test_a_strategy_that_never_lets_go_is_noticed_with_every_counter() -> None:
    config = small(rate_limit=RateLimit.custom(f"{__name__}:Never"), stall_timeout_s=1000.0)
    async with FakeSink(FakeDestination()).open(config) as writer:
        await writer.write_many(entries(1, 3))
        with pytest.raises(StalledError) as caught:
            await writer.flush(end_of_input=True)
        assert anyio.current_time() == 1000.0
        with pytest.raises(WriterFailedError):
            await writer.write(FakeEntry(4))
        assert len(writer.snapshot_state()[0].entries) == 3
    text = str(caught.value)
    assert text.startswith("nothing was acknowledged for 1000.0 s (stall_timeout_s = 1000), though entries wait: ")
    for counter in ("accepted=3", "acknowledged=0", "buffered_entries=3", "in_flight_entries=0", "requests=0"):
        assert counter in text


@pytest.mark.parametrize("fault", [Fault.PARTLY_FAILED, Fault.HANGING])
@virtual
async def test_what_fails_for_ever_is_noticed(fault: Fault) -> None:
    destination = FakeDestination()
    destination.script([], then=fault)
    retry = ENDLESS if fault is Fault.PARTLY_FAILED else RetryPolicy(timeout_s=99.0)
    config = small(retry=retry, stall_timeout_s=100.0, request_timeout_s=98.0, max_time_in_buffer_s=0.5)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 3))
        with pytest.raises(StalledError, match=r"in_flight_requests=|retried_entries="):
            await writer.flush(end_of_input=True)
        assert 100.0 <= anyio.current_time() < 101.0
        hold_that_it_adds_up(writer)


@virtual
async def test_all_waiting_calls_hear_of_it_one_with_the_error_itself() -> None:
    destination = FakeDestination()
    destination.script([], then=Fault.HANGING)
    config = small(retry=RetryPolicy(timeout_s=99.0), stall_timeout_s=100.0, request_timeout_s=98.0)
    raised: list[type[Exception]] = []
    async with FakeSink(destination).open(config) as writer, anyio.create_task_group() as group:
        await writer.write_many(entries(1, 3))

        async def wait(call: Any, *arguments: Any) -> None:
            with pytest.raises((StalledError, WriterFailedError)) as caught:
                await call(*arguments)
            raised.append(caught.type)

        group.start_soon(wait, writer.flush, True)
        group.start_soon(wait, writer.flush, True)
        group.start_soon(wait, writer.write_many, entries(4, 50))
        await anyio.sleep(101.0)
        assert sorted(raised, key=str) == [StalledError, WriterFailedError, WriterFailedError]


@pytest.mark.parametrize("age_s", [100.0, 150.0, 199.0, 200.0, 1000.0])
@virtual
async def test_waiting_for_the_age_timer_is_no_stall_nor_is_the_time_right_after(age_s: float) -> None:
    destination = FakeDestination()
    destination.script([], then=Step(latency_s=40.0))
    retry = RetryPolicy(timeout_s=50.0)
    config = small(max_time_in_buffer_s=age_s, request_timeout_s=45.0, retry=retry, stall_timeout_s=100.0)
    async with FakeSink(destination).open(config) as writer:
        await writer.write(FakeEntry(1))
        writer.statistics()  # takes the entry out of the open tail
        await anyio.sleep(age_s + 41.0)
        assert stored(destination) == [1]
        await anyio.sleep(1000.0)
        await writer.write(FakeEntry(2))
        await anyio.sleep(age_s - 1.0)
        await writer.flush(end_of_input=True)
    assert stored(destination) == [1, 2]


@virtual
async def test_time_that_entries_wait_for_the_age_timer_does_not_count_but_what_came_before_does() -> None:
    # Each try of the entry takes 30 s of answering and backoff, then it waits for an age timer of 400 s.
    destination = FakeDestination()
    destination.script([], then=Step.partly(Fault.PARTLY_FAILED, 0, latency_s=30.0))
    retry = RetryPolicy(max_attempts=10**9, timeout_s=50.0, initial_backoff_s=0.0, max_backoff_s=0.0)
    config = small(max_time_in_buffer_s=400.0, request_timeout_s=40.0, retry=retry, stall_timeout_s=100.0)
    async with FakeSink(destination).open(config) as writer:
        await writer.write(FakeEntry(1))
        await anyio.sleep(4 * 430.0)
        with pytest.raises(StalledError, match=r"for 100\.0 s"):
            await writer.flush(end_of_input=True)
        assert len(destination.requests) == 4


@virtual
async def test_idle_hours_are_no_stall() -> None:
    async with FakeSink(FakeDestination()).open(small(stall_timeout_s=1000.0)) as writer:
        for first in (1, 4, 7):
            await anyio.sleep(10_000.0)
            await writer.write_many(entries(first, first + 2))
            await settled()
    assert writer.statistics().acknowledged == 9


@virtual
async def test_dead_letters_are_progress() -> None:
    destination = FakeDestination()
    destination.script([], then=Step(Fault.POISONED, 60.0))
    config = keeping(
        DeadLetterMemory(), request_timeout_s=90.0, retry=RetryPolicy(timeout_s=99.0), stall_timeout_s=100.0
    )
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 15))
        await writer.flush(end_of_input=True)
        assert anyio.current_time() >= 300.0
        assert writer.statistics().dead_lettered == 15


@pytest.mark.parametrize("call", ["flush", "write", "write_many"])
@virtual
async def test_a_store_of_dead_letters_that_hangs_is_noticed(call: str) -> None:
    destination = FakeDestination([Fault.POISONED])
    config = keeping(SlowStore(), stall_timeout_s=1000.0)
    async with FakeSink(destination).open(config) as writer:
        await anyio.sleep(5000.0)
        if call == "flush":
            await writer.write_many(entries(1, 3))
        with pytest.raises(StalledError):  # noqa: PT012
            match call:
                case "flush":
                    await writer.flush()
                case "write":
                    await writer.write(broken(4))
                case "write_many":
                    await writer.write_many([broken(5), FakeEntry(6)])
        assert anyio.current_time() == 6000.0
        assert writer.statistics().accepted == (3 if call == "flush" else 0)


@virtual
async def test_no_timeout_is_for_ever() -> None:
    config = small(rate_limit=RateLimit.custom(f"{__name__}:Never"), stall_timeout_s=None)
    async with FakeSink(FakeDestination()).open(config) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(80_000.0)
        assert writer.statistics().unacknowledged == 3
        with pytest.warns(ResourceWarning):
            await writer.aclose()
