"""What the rate limit is told, and what the statistics say."""

from __future__ import annotations

import logging
from threading import Thread

import anyio
import pytest

from asyncsink import FatalRequestError, RateLimit, RequestInfo, WriterStatistics
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, RecordedWriter, Step, check
from asyncsink_testing.history import LimitCompleted, LimitRegistered
from asyncsink_testing.rate_limit import RecordedStrategy
from asyncsink_testing.rules import LimiterBalanced
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, settled, small, stored


@virtual
async def test_the_strategy_is_told_of_each_request_once_with_actual_counts_whatever_its_ending() -> None:
    destination = FakeDestination(
        [
            Fault.OK,
            Step.partly(Fault.PARTLY_THROTTLED, 0),
            Step.partly(Fault.PARTLY_FAILED, 0),
            Fault.THROTTLED,
            Fault.DISCONNECTED,
            Fault.HANGING,
            Fault.REFUSED,
            Fault.FATAL,
        ]
    )
    sink = FakeSink(destination)
    writer = RecordedWriter(sink, small(max_batch_size_in_bytes=100))
    with pytest.raises(FatalRequestError, match="Forbidden"):
        async with writer:
            await writer.write_many([FakeEntry(name, 40) for name in range(1, 30)])
    told = [(each.batch_size, each.size_in_bytes) for each in destination.history.of(LimitRegistered)]
    done = [(each.batch_size, each.size_in_bytes) for each in destination.history.of(LimitCompleted)]
    assert sorted(told) == sorted(done)
    assert told == [(len(each.entries), each.size_in_bytes) for each in destination.requests]
    assert told[0] == (2, 80), "by bytes two of the three that were planned"
    check(destination.history, [LimiterBalanced])


@virtual
async def test_requests_that_are_cut_by_closing_are_completed_too() -> None:
    destination = FakeDestination([Step(latency_s=9.0)] * 3)
    with anyio.move_on_after(1.0):
        async with RecordedWriter(FakeSink(destination), small(max_in_flight_requests=3)) as writer:
            await writer.write_many(entries(1, 9))
            await settled()
            assert len(destination.in_flight) == 3
            writer.closing()
            await anyio.sleep_forever()
    assert len(destination.history.of(LimitCompleted)) == 3


@virtual
async def test_the_budget_bounds_the_batch_and_what_is_in_flight() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 30)
    config = small(max_in_flight_requests=5, rate_limit=RateLimit.aimd(initial=2, ceiling=1000, increase=1))
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 12))
    assert [len(each.entries) for each in destination.requests[:2]] == [2, 3]
    assert stored(destination)[:5] == [1, 2, 3, 4, 5]


@virtual
async def test_concurrency_is_there_from_the_first_second() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 30)
    config = small(max_in_flight_requests=5, rate_limit=RateLimit.aimd())
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 15))
        await settled()
        assert len(destination.in_flight) == 5


@virtual
async def test_a_strategy_that_blocks_for_ever_lets_one_request_out_with_one_warning() -> None:
    class Blocking(RecordedStrategy):
        def should_block(self, info: RequestInfo) -> bool:
            return True

    class Limit(RateLimit):
        def make(self, config: object) -> Blocking:
            return Blocking(None, 1, destination.history, lambda: 1)

    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("asyncsink").addHandler(handler)
    destination = FakeDestination([Step(latency_s=1.0)] * 9)
    try:
        async with FakeSink(destination).open(small(max_in_flight_requests=5, rate_limit=Limit(kind="aimd"))) as writer:
            await writer.write_many(entries(1, 9))
    finally:
        logging.getLogger("asyncsink").removeHandler(handler)
    assert destination.peak_in_flight == 1
    assert batches(destination) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert len([each for each in records if "nothing is in flight" in each]) == 1


@virtual
async def test_statistics_count_each_entry_once_however_often_it_is_sent() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_THROTTLED, 0, 1), Fault.DISCONNECTED])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 5))
        await writer.flush(end_of_input=True)
        told = writer.statistics()
    assert (told.accepted, told.acknowledged, told.unacknowledged) == (5, 5, 0)
    assert (told.buffered_entries, told.in_flight_entries, told.size_in_bytes) == (0, 0, 0)
    assert told.requests == len(destination.requests)
    assert told.throttled_entries == 2
    assert told.retried_entries == sum(len(each) for each in batches(destination)) - 5


@virtual
async def test_the_send_time_is_none_before_the_first_answer() -> None:
    destination = FakeDestination([Step(latency_s=2.0)])
    async with FakeSink(destination).open(small()) as writer:
        assert writer.statistics().last_send_time_s is None
        await writer.write_many(entries(1, 3))
        await writer.flush()
        assert writer.statistics().last_send_time_s == 2.0


@virtual
async def test_another_thread_reads_what_was_published_last() -> None:
    seen: list[WriterStatistics] = []

    def look() -> None:
        thread = Thread(target=lambda: seen.append(writer.statistics()))
        thread.start()
        thread.join()

    destination = FakeDestination([Step(latency_s=2.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 4))
        await writer.flush()
        look()
        assert (seen[-1].accepted, seen[-1].acknowledged, seen[-1].unacknowledged) == (4, 3, 1)
        await writer.write_many(entries(5, 6))
        await settled()
        look()
        assert seen[-1].acknowledged == 6, "someone had asked, so the next completion has published"
    look()
    assert seen[-1].unacknowledged == 0
    assert names(destination.requests[1]) == [4, 5, 6]
