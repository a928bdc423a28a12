"""An answer that comes when its request has long been sent again, and its lane has gone."""

from __future__ import annotations

import anyio
import pytest

from asyncsink import RequestEntries, RequestResult
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, names, small, stored

LATE = [
    Step(latency_s=30.0, uncut_s=31.0),
    Step(Fault.PARTLY_FAILED, 30.0, uncut_s=31.0),
    Step(Fault.PARTLY_THROTTLED, 30.0, uncut_s=31.0),
    Step(Fault.DISCONNECTED, 30.0, uncut_s=31.0),
    Step(Fault.FATAL, 30.0, uncut_s=31.0),
]


@pytest.mark.parametrize("late", LATE, ids=lambda step: step.fault.value)
@pytest.mark.parametrize("written_at_s", [20.0, 28.0], ids=["in-flight", "buffered"])
@virtual
async def test_a_very_late_answer_leaves_the_new_lane_of_its_route_alone(late: Step, written_at_s: float) -> None:
    # The request is over at 10 s and its twin is stored at once; what is written later makes the lane anew. When the
    # late answer comes at 30 s the new entry is in flight (sent by its age at 25 s), or still in the buffer.
    destination = FakeDestination([late, Step(), Step(latency_s=8.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await anyio.sleep_until(15.0)
        assert writer._engine.lanes == {}, "the twin was stored, and the lane dropped"
        await anyio.sleep_until(written_at_s)
        await writer.write(FakeEntry(4, route="a"))
        await anyio.sleep_until(30.5)
        assert [names(each) for each in destination.in_flight.values()] == ([[4]] if written_at_s == 20.0 else [])
        assert [entry.name for entry in writer.snapshot_state()[0].entries] == [4]
        assert list(writer._engine.lanes) == ["a"]
        with anyio.fail_after(20.0):
            await writer.flush(end_of_input=True)
        told = writer.statistics()
        assert (told.acknowledged, told.unacknowledged, told.size_in_bytes, told.requests) == (4, 0, 0, 3)
    assert batches(destination) == [[1, 2, 3], [1, 2, 3], [4]]
    assert writer._engine.lanes == {}


@virtual
async def test_a_late_partial_answer_before_the_resend_brings_back_what_failed_and_no_more() -> None:
    late = Step(Fault.PARTLY_FAILED, 12.0, frozenset({1}), uncut_s=13.0)
    destination = FakeDestination([late, Step(Fault.THROTTLED, 8.0, retry_after_s=12.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(1.0)
        await writer.write_many(entries(4, 6))
        await anyio.sleep_until(12.5)
        assert writer.statistics().acknowledged == 2
        assert [entry.name for entry in writer.snapshot_state()[0].entries] == [2, 4, 5, 6]
    assert sorted(stored(destination)) == [1, 2, 3, 4, 5, 6]


class Deaf(FakeSink):
    """Shields its request for good, whatever its deadline."""

    async def submit_request_entries(self, entries: RequestEntries[FakeEntry], client: FakeClient) -> RequestResult:
        results = []
        with anyio.CancelScope(shield=True):
            results.append(await super().submit_request_entries(entries, client))
        return results[0]


@virtual
async def test_a_connector_that_cannot_be_cut_blocks_no_slot_of_the_writer() -> None:
    destination = FakeDestination([Step(latency_s=25.0)])
    async with Deaf(destination).open(small()) as writer:
        await writer.write_many(entries(1, 9))
        with anyio.fail_after(12.0):
            await writer.flush(end_of_input=True)
    assert stored(destination)[:9] == [*range(1, 10)]
    assert anyio.current_time() == 25.0, "leaving waits for the connector's shield"
