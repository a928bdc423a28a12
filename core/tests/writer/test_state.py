"""What a writer leaves to its successor, and what that one makes of it."""

from __future__ import annotations

import re

import anyio
import pytest

from asyncsink import AsyncSinkWriter, BufferedRequestState, OversizedEntryError, WriterInitContext
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored


def names_of(states: list[BufferedRequestState[FakeEntry]]) -> list[object]:
    assert len(states) == 1
    return [entry.name for entry in states[0].entries]


@virtual
async def test_a_snapshot_is_exactly_one_state_also_when_empty() -> None:
    async with FakeSink(FakeDestination()).open(small()) as writer:
        assert writer.snapshot_state() == [BufferedRequestState()]


@virtual
async def test_a_snapshot_holds_buffered_sealed_parked_and_in_flight_in_order_with_sizes() -> None:
    destination = FakeDestination(
        [
            Step.partly(Fault.PARTLY_FAILED, 1, latency_s=0.5, retry_after_s=30.0),
            Step(Fault.REFUSED, 1.0, retry_after_s=3.0),
            Step(latency_s=9.0),
        ]
    )
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many([FakeEntry(name, name) for name in range(1, 9)])
        await anyio.sleep(1.6)
        await writer.write(FakeEntry(9, 9))
        (state,) = writer.snapshot_state()
        assert names_of([state]) == [2, 4, 5, 6, 7, 8, 9]
        assert state.sizes == (2, 4, 5, 6, 7, 8, 9)
        assert writer.statistics().size_in_bytes == state.size_in_bytes
        await anyio.sleep(4.0)
        assert names_of(writer.snapshot_state()) == [2, 4, 5, 6, 7, 8, 9], "in flight by now, and still held"


@virtual
async def test_restored_states_are_joined_in_the_order_given_and_get_their_routes_again() -> None:
    destination = FakeDestination()
    states = [
        BufferedRequestState((FakeEntry(1, 1, "a"), FakeEntry(2, 1, "b")), (1, 1)),
        BufferedRequestState((FakeEntry(3, 1, "a"),), (1,)),
    ]
    async with FakeSink(destination).open(small(max_in_flight_requests=3), states) as writer:
        assert names_of(writer.snapshot_state()) == [1, 2, 3]
        assert writer.statistics().restored == 3
        await writer.write(FakeEntry(4, 1, "a"))
        await settled()
        assert batches(destination) == [[1, 3, 4]]
    assert sorted(batches(destination)) == [[1, 3, 4], [2]]
    assert {each.route for each in destination.requests} == {"a", "b"}


@virtual
async def test_restored_sizes_are_used_as_they_are() -> None:
    destination = FakeDestination()
    states = [BufferedRequestState((FakeEntry(1, 1),), (77,))]
    async with FakeSink(destination).open(small(), states) as writer:
        assert writer.statistics().size_in_bytes == 77
    assert destination.requests[0].size_in_bytes == 77


@virtual
async def test_restored_entries_arm_the_age_timer() -> None:
    destination = FakeDestination()
    states = [BufferedRequestState((FakeEntry(1),), (1,))]
    async with FakeSink(destination).open(small(), states):
        await anyio.sleep(6.0)
        assert [each.started_s for each in destination.requests] == [5.0]


@virtual
async def test_an_oversized_restored_entry_raises_on_entering_and_names_both_numbers() -> None:
    states = [BufferedRequestState((FakeEntry(1),), (101,))]
    writer = FakeSink(FakeDestination()).open(small(), states)
    with pytest.raises(OversizedEntryError, match=r"101.*max_record_size_in_bytes = 100"):
        await writer.__aenter__()
    assert writer.snapshot_state() == states, "nothing is lost by the refusal"


@virtual
async def test_what_is_killed_in_flight_is_delivered_by_its_successor() -> None:
    destination = FakeDestination([Step(latency_s=9.0)])
    sink = FakeSink(destination)
    writer = sink.open(small())
    with anyio.move_on_after(2.0):
        async with writer:
            await writer.write_many(entries(1, 5))
            await anyio.sleep_forever()
    async with sink.open(small(), writer.snapshot_state()):
        pass
    assert stored(destination) == [1, 2, 3, 4, 5]


@virtual
async def test_ids_are_unique_over_writers_restarts_and_queries_and_name_where_they_come_from() -> None:
    destination = FakeDestination()
    sink = FakeSink(destination)
    contexts = [
        WriterInitContext(query_id="q", batch_id=7, writer_id=3, attempt=0),
        WriterInitContext(query_id="q", batch_id=7, writer_id=3, attempt=0),  # the same task after a restart
        WriterInitContext(query_id="q", batch_id=7, writer_id=4),
        WriterInitContext(query_id="q", batch_id=8, writer_id=3),
        WriterInitContext(),
        WriterInitContext(),
    ]
    for context in contexts:
        async with AsyncSinkWriter(sink, context, small()) as writer:
            await writer.write_many(entries(1, 6))
    ids = [each.id for each in destination.requests]
    assert len(set(ids)) == 12
    assert all(re.fullmatch(r"q/7/3/0\.[0-9a-f]{8}-[12]", each) for each in ids[:4])


@virtual
async def test_the_snapshot_is_usable_before_entering_and_after_closing() -> None:
    states = [BufferedRequestState((FakeEntry(1),), (1,))]
    writer = FakeSink(FakeDestination()).open(small(), states)
    assert names_of(writer.snapshot_state()) == [1]
    async with writer:
        await writer.write(FakeEntry(2))
        with pytest.warns(ResourceWarning):
            await writer.aclose()
    assert names_of(writer.snapshot_state()) == [1, 2]
    assert writer.statistics().unacknowledged == 2
