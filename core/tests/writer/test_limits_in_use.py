"""Rate limits through a real writer, in virtual time: FLIP-242's three questions, and fixed rates."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import (
    AIMDScalingStrategy,
    AsyncSinkWriterConfig,
    ConfigurationError,
    CongestionControlRateLimitingStrategy,
    RateLimit,
    ResultInfo,
    RetryPolicy,
)
from asyncsink.limits import ThresholdScalingStrategy
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored

MOST = 64
CALM = RetryPolicy(initial_backoff_s=0.0, max_backoff_s=0.0)
"""Failures are answered without a wait, so that only the strategy holds back."""


def steady(latency_s: float = 1.0, faults: int = 0, of: int = 1) -> FakeDestination:
    """Answers after `latency_s`; of the first requests every `of`-th is throttled, `faults` in all."""
    steps = [Step(Fault.THROTTLED if number % of == of - 1 and number < faults * of else Fault.OK, latency_s)
             for number in range(400)]  # fmt: skip
    return FakeDestination(steps)


async def peaks(destination: FakeDestination, limit: RateLimit, rounds: int, **changes: Any) -> list[int]:
    """The most entries in flight in each second, with more to send than may go."""
    config = small(**{"max_in_flight_requests": MOST, "max_buffered_requests": 2000, "rate_limit": limit} | changes)
    sink, seen = FakeSink(destination), list[int]()
    with anyio.move_on_after(rounds + 0.5):
        async with sink.open(config) as writer:
            await writer.write_many(entries(1, 1900))
            for _ in range(rounds):
                await settled()
                seen.append(destination.in_flight_entries)
                await anyio.sleep(1.0)
            await anyio.sleep_forever()
    return seen


class Patient(CongestionControlRateLimitingStrategy):
    """Scales down only above a quarter of failures, and up only after 8 successes within 2 seconds."""

    def __init__(self) -> None:
        scaling = ThresholdScalingStrategy(
            AIMDScalingStrategy(1000, 3), failure_share=0.25, window_s=3.0, successes=8, within_s=2.0
        )
        super().__init__(MOST, 12, 1000, scaling)


class Doubling:
    """A user's own answer to "how much"."""

    def scale_up(self, current: int, result: ResultInfo) -> int:
        return 2 * current

    def scale_down(self, current: int, result: ResultInfo) -> int:
        return current - result.throttled // 3


class Steep(CongestionControlRateLimitingStrategy):
    def __init__(self) -> None:
        super().__init__(MOST, 3, 96, Doubling())


@virtual
async def test_what_is_scaled_may_be_requests_whatever_they_hold() -> None:
    limit = RateLimit.aimd(unit="requests", initial=2, increase=1)
    assert await peaks(steady(), limit, 4) == [6, 12, 24, 48], "2, 4, 8 and 16 requests of 3"
    assert await peaks(steady(), limit, 4, max_batch_size=1) == [2, 4, 8, 16], "of 1: as many requests"
    records = RateLimit.aimd(initial=6, increase=1)
    assert await peaks(steady(), records, 4, max_batch_size=1) == [6, 12, 24, 48], "the default counts what they hold"


@virtual
async def test_what_is_scaled_may_be_bytes() -> None:
    limit = RateLimit.aimd(unit="bytes", initial=6, increase=1)
    assert await peaks(steady(), limit, 3) == [6, 6, 9], "entries of one byte; 6, 8 and 10 in batches of 3"


@virtual
async def test_when_to_scale_down_may_depend_on_the_share_of_failures() -> None:
    patient = RateLimit.custom(f"{__name__}:Patient")
    seldom = await peaks(steady(faults=3, of=12), patient, 6, retry=CALM)
    assert seldom == sorted(seldom), "one in twelve is not worth it"
    default = await peaks(steady(faults=3, of=12), RateLimit.aimd(initial=12, increase=1), 6, retry=CALM)
    assert default != sorted(default), "to the default it is"
    often = await peaks(steady(faults=200, of=2), patient, 4, retry=CALM)
    assert min(often) <= 3


@virtual
async def test_when_to_scale_up_may_take_several_successes_in_short_order() -> None:
    patient = RateLimit.custom(f"{__name__}:Patient")
    assert await peaks(steady(), patient, 5) == [12, 12, 15, 15, 18], "4 answers a second: 8 within 2 s"
    assert await peaks(steady(1.3), patient, 3) == [12, 12, 12], "not within 2 s"


@virtual
async def test_how_much_to_scale_may_be_anything() -> None:
    steep = RateLimit.custom(f"{__name__}:Steep")
    assert (await peaks(steady(), steep, 5))[:3] == [3, 6, 24]
    steps = [*[Step(latency_s=1.0)] * 3, *[Step(Fault.THROTTLED, 1.0)] * 8, *[Step(latency_s=1.0)] * 9]
    gentle = await peaks(FakeDestination(steps), steep, 4, retry=CALM)
    assert gentle == [3, 6, 24, 15], "24 less one for each of the 8, in batches of 3"


@virtual
async def test_an_adaptive_limit_grows_by_one_a_round_trip_and_yields_to_throttling() -> None:
    grown = await peaks(steady(), RateLimit.adaptive(), 6, max_batch_size=1)
    assert grown == [1, 1, 2, 3, 4, 5], "the first round trip is only measured"
    yielding = await peaks(steady(faults=10, of=1), RateLimit.adaptive(initial=10, factor=0.5), 3, max_batch_size=1,
                           retry=CALM)  # fmt: skip
    assert yielding[:2] == [10, 5]


# ---- fixed rates -------------------------------------------------------------------------------------------------


def most_within(destinations: list[FakeDestination], window_s: float) -> int:
    times_s = sorted(request.started_s for each in destinations for request in each.requests)
    return max(sum(start_s <= time_s <= start_s + window_s for time_s in times_s) for start_s in times_s[::7])


async def write_for(seconds: float, sink: FakeSink, config: AsyncSinkWriterConfig) -> None:
    with anyio.move_on_after(seconds):
        async with sink.open(config) as writer:
            number = 0
            while True:
                number += 1
                await writer.write(FakeEntry(number))


def paced(limit: RateLimit, **changes: Any) -> AsyncSinkWriterConfig:
    return small(**{"max_batch_size": 1, "max_in_flight_requests": 30, "rate_limit": limit} | changes)


@virtual
async def test_500_requests_a_minute_are_5000_in_ten_minutes_and_never_501_in_any_60_seconds() -> None:
    destination = steady(0.2)
    destination.script([], then=Step(latency_s=0.2))
    limit = RateLimit.fixed(requests=500, per_s=60)
    began_s = anyio.current_time()
    await write_for(600.0, FakeSink(destination), paced(limit))
    assert anyio.current_time() - began_s == 600.0
    assert abs(len(destination.requests) - 5000) <= 9, "give or take a second's worth"
    assert most_within([destination], 60.0) <= 500


@virtual
async def test_writers_that_share_a_rate_keep_it_together() -> None:
    destinations = [FakeDestination(), FakeDestination()]
    limit = RateLimit.fixed(requests=100, per_s=10, burst=2, writers=2)
    async with anyio.create_task_group() as group:
        for destination in destinations:
            group.start_soon(write_for, 60.0, FakeSink(destination), paced(limit))
    assert [len(each.requests) for each in destinations] == [300, 300]
    assert most_within(destinations, 10.0) <= 100


@virtual
async def test_a_fixed_rate_does_not_lift_the_bound_of_requests_in_flight() -> None:
    destination = FakeDestination([Step(latency_s=10.0)] * 100)
    await write_for(30.0, FakeSink(destination), paced(RateLimit.fixed(requests=50), max_in_flight_requests=4))
    assert destination.peak_in_flight == 4


@virtual
async def test_throttled_requests_have_been_sent_and_count() -> None:
    destination = FakeDestination([Fault.THROTTLED] * 20)
    limit = RateLimit.fixed(requests=2, per_s=1.0)
    async with FakeSink(destination).open(paced(limit, retry=CALM)) as writer:
        await writer.write_many(entries(1, 4))
    assert len(destination.requests) == 24
    assert most_within([destination], 1.0) <= 2


@virtual
async def test_what_is_larger_than_the_burst_does_not_wait_for_ever() -> None:
    destination, began_s = FakeDestination(), anyio.current_time()
    limit = RateLimit.fixed(size_in_bytes=50, burst=10)
    async with FakeSink(destination).open(small(rate_limit=limit)) as writer:
        await writer.write_many(entries(1, 10, size=100))
    assert sorted(stored(destination)) == list(range(1, 11))
    assert anyio.current_time() - began_s == pytest.approx(18.0, rel=0.2), "1000 bytes, the first of them at once"


@virtual
async def test_records_a_second_cut_the_batches() -> None:
    destination = FakeDestination()
    limit = RateLimit.fixed(records=6, burst=2)
    async with FakeSink(destination).open(small(rate_limit=limit, max_in_flight_requests=9)) as writer:
        await writer.write_many(entries(1, 13))
    assert [len(each) for each in batches(destination)] == [2, 2, 2, 2, 2, 2, 1]
    times_s = [request.started_s - destination.requests[0].started_s for request in destination.requests]
    assert times_s[3] >= 1.0


@virtual
async def test_a_class_that_does_not_load_is_told_by_the_writer() -> None:
    config = small(rate_limit=RateLimit.custom("no_such_module:Mine"))
    with pytest.raises(ConfigurationError, match="'no_such_module:Mine' failed to import"):
        await write_for(1.0, FakeSink(FakeDestination()), config)
