"""How long and how often is tried again."""

from __future__ import annotations

import logging

import anyio
import pytest

from asyncsink import DestinationUnavailableError, RequestRejectedError, RetryPolicy
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, SentRequest, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, small, stored


@virtual
async def test_retry_after_holds_the_whole_scope_back() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 1.0, retry_after_s=20.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(2.0)
        await writer.write_many(entries(4, 9))
        await anyio.sleep(18.9)
        assert len(destination.requests) == 1
    assert {each.started_s for each in destination.requests[1:3]} == {21.0}


@virtual
async def test_retry_after_is_capped() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 1.0, retry_after_s=1e9)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
    assert destination.requests[1].started_s == 51.0


@virtual
async def test_a_scope_in_backoff_does_not_hold_another_scope_back() -> None:
    destination = FakeDestination([Step(Fault.THROTTLED, 1.0, retry_after_s=20.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=3)) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await anyio.sleep(2.0)
        await writer.write_many(entries(4, 6, route="b"))
        await anyio.sleep(1.0)
        assert batches(destination) == [[1, 2, 3], [4, 5, 6]]


@virtual
async def test_backoff_grows_once_per_round_and_not_with_each_request_of_it() -> None:
    destination = FakeDestination([Step(Fault.REFUSED, 1.0)] * 20)
    config = small(
        max_in_flight_requests=20,
        max_buffered_requests=100,
        retry=RetryPolicy(initial_backoff_s=0.1, max_backoff_s=1e6),
    )
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 60))
    assert max(each.started_s for each in destination.requests) <= 1.1 + 1e-9


@virtual
async def test_an_outage_costs_few_requests() -> None:
    destination = FakeDestination()
    destination.script([Fault.REFUSED] * 10)
    config = small(retry=RetryPolicy(initial_backoff_s=0.1, max_backoff_s=30.0))
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=True)
    assert anyio.current_time() > 2.0, "ten rounds of doubling jitter take longer than that"
    assert stored(destination) == [1, 2, 3]


@virtual
async def test_an_entry_that_failed_by_itself_waits_alone_and_others_go_on() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0, retry_after_s=7.0)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
        await anyio.sleep(1.0)
        assert batches(destination) == [[1, 2, 3], [4, 5, 6]]
        assert writer.statistics().buffered_entries == 1
        await writer.flush(end_of_input=True)
        assert (names(destination.requests[2]), destination.requests[2].started_s) == ([1], 7.0)


@virtual
async def test_an_entry_fails_the_writer_after_max_attempts() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 1)] + [Step(Fault.PARTLY_FAILED)] * 9)
    config = small(retry=RetryPolicy(max_attempts=3, initial_backoff_s=0.1, max_backoff_s=0.1))
    with pytest.raises(RequestRejectedError, match=r"max_attempts = 3.*InternalError"):
        async with FakeSink(destination).open(config) as writer:
            await writer.write_many(entries(1, 3))
    assert batches(destination) == [[1, 2, 3], [2], [2]]
    assert [entry.name for entry in writer.snapshot_state()[0].entries] == [2]


@virtual
async def test_throttled_entries_count_no_attempt() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_THROTTLED, 0)] * 8)
    config = small(retry=RetryPolicy(max_attempts=2, initial_backoff_s=0.1, max_backoff_s=0.1))
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 20))
    assert sorted(stored(destination)) == [*range(1, 21)]


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.REFUSED, Fault.DISCONNECTED, Fault.HANGING])
@virtual
async def test_a_destination_that_takes_nothing_is_given_up_after_its_time(fault: Fault) -> None:
    destination = FakeDestination()
    destination.script([], then=Step(fault, 0.5))
    config = small(retry=RetryPolicy(timeout_s=60.0, initial_backoff_s=0.1, max_backoff_s=5.0))
    with pytest.raises(DestinationUnavailableError, match=r"retry.timeout_s = 60") as caught:
        async with FakeSink(destination).open(config) as writer:
            await writer.write_many(entries(1, 3))
    assert caught.value.__cause__ is not None
    assert 60.0 <= anyio.current_time() <= 90.0
    assert len(writer.snapshot_state()[0].entries) == 3


@virtual
async def test_one_sealed_request_that_fails_for_so_long_gives_up_though_others_succeed() -> None:
    destination = FakeDestination()

    class Faults:
        """Never answers for entry 1."""

        def next_step(self, request: SentRequest) -> Step:
            return Step(Fault.REFUSED if 1 in names(request) else Fault.OK, 0.5)

    destination.faults = Faults()
    config = small(
        max_in_flight_requests=2,
        max_batch_size=1,
        retry=RetryPolicy(timeout_s=30.0, initial_backoff_s=0.1, max_backoff_s=0.2),
    )
    with pytest.raises(DestinationUnavailableError):  # noqa: PT012
        async with FakeSink(destination).open(config) as writer:
            for name in range(1, 1000):
                await writer.write(FakeEntry(name))
                await anyio.sleep(0.3)
    assert 30.0 <= anyio.current_time() <= 40.0


@virtual
async def test_unknown_codes_are_warned_of_once_and_retried_for_an_entry() -> None:
    destination = FakeDestination([Step.partly(Fault.PARTLY_FAILED, 0)] * 3)

    class Sink(FakeSink):
        errors = FakeSink.errors.__class__()

    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("asyncsink")
    logger.addHandler(handler)
    try:
        async with Sink(destination).open(small()) as writer:
            await writer.write_many(entries(1, 3))
    finally:
        logger.removeHandler(handler)
    assert sum("InternalError" in each for each in records) == 1
    assert stored(destination) == [2, 3, 1]
