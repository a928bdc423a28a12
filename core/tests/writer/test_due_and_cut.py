"""When a batch is due and what it holds."""

from __future__ import annotations

import anyio

from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, settled, small


@virtual
async def test_a_full_batch_goes_at_once_without_another_write() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        for entry in entries(1, 2):
            await writer.write(entry)
        await settled()
        assert batches(destination) == []
        await writer.write(FakeEntry(3))
        await settled()
        assert batches(destination) == [[1, 2, 3]]
        assert destination.requests[0].started_s == anyio.current_time()


@virtual
async def test_bytes_equal_to_the_limit_are_due_and_fit() -> None:
    destination = FakeDestination()
    config = small(max_batch_size=10, max_batch_size_in_bytes=10, max_record_size_in_bytes=10)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([FakeEntry(1, 4), FakeEntry(2, 6)])
        await settled()
        assert batches(destination) == [[1, 2]]


@virtual
async def test_a_batch_stops_at_the_first_entry_that_would_go_over_without_looking_ahead() -> None:
    destination = FakeDestination([Step(latency_s=1.0)])
    config = small(max_batch_size=10, max_batch_size_in_bytes=10, max_record_size_in_bytes=10)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([FakeEntry(1, 6), FakeEntry(2, 8), FakeEntry(3, 1)])
        await settled()
        assert batches(destination) == [[1]]
    assert batches(destination) == [[1], [2, 3]]


@virtual
async def test_the_age_timer_sends_what_waits() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await anyio.sleep(1.0)
        await writer.write(FakeEntry(1))
        await anyio.sleep(4.0)
        await writer.write(FakeEntry(2))
        await anyio.sleep(10.0)
        assert [(names(each), each.started_s) for each in destination.requests] == [([1, 2], 6.0)]


@virtual
async def test_a_batch_sent_by_count_leaves_the_one_timer_armed() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(4.0)
        await writer.write(FakeEntry(4))
        await anyio.sleep(10.0)
        assert [(names(each), each.started_s) for each in destination.requests] == [([1, 2, 3], 0.0), ([4], 5.0)]


@virtual
async def test_the_timer_is_armed_again_by_the_next_entry_after_it_has_expired() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write(FakeEntry(1))
        await anyio.sleep(7.0)
        await writer.write(FakeEntry(2))
        await anyio.sleep(7.0)
        assert [each.started_s for each in destination.requests] == [5.0, 12.0]


@virtual
async def test_on_expiry_everything_written_before_goes_and_nothing_written_later() -> None:
    destination = FakeDestination([Step(latency_s=2.0)] * 9)
    config = small(max_batch_size=2)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 5))
        await anyio.sleep(6.5)
        await writer.write(FakeEntry(6))
        await anyio.sleep(4.5)
        assert [(names(each), each.started_s) for each in destination.requests] == [
            ([1, 2], 0.0),
            ([3, 4], 2.0),
            ([5], 5.0),
        ]


@virtual
async def test_a_full_buffer_with_nothing_due_lets_the_route_with_the_oldest_entry_go() -> None:
    destination = FakeDestination([Step(latency_s=0.5)] * 9)
    config = small(max_batch_size=10, max_buffered_requests=11, max_time_in_buffer_s=1000.0)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([*entries(1, 6, route="a"), *entries(7, 11, route="b")])
        await settled()
        assert batches(destination) == [[1, 2, 3, 4, 5, 6]]


@virtual
async def test_thresholds_count_per_route_and_routes_never_share_a_request() -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small(max_in_flight_requests=4)) as writer:
        await writer.write_many(
            [FakeEntry(1, 1, "a"), FakeEntry(2, 1, "b"), FakeEntry(3, 1, "a"), FakeEntry(4, 1, "b")]
        )
        await settled()
        assert batches(destination) == []
        await writer.write(FakeEntry(5, 1, "a"))
        await settled()
        assert batches(destination) == [[1, 3, 5]]
        assert destination.requests[0].route == "a"
    assert sorted(batches(destination)) == [[1, 3, 5], [2, 4]]
