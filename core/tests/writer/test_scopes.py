"""How scopes share the slots of a writer."""

from __future__ import annotations

from asyncsink_testing import FakeDestination, FakeSink, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small


@virtual
async def test_a_second_scope_is_remembered_when_the_first_has_been_idle_since() -> None:
    destination = FakeDestination([Step(), Step(latency_s=1.0), Step(latency_s=1.0), Step(latency_s=1.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=3)) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await writer.flush(end_of_input=True)
        await writer.write_many(entries(4, 12, route="b"))
        await settled()
        assert len(destination.in_flight) == 2, "b is the second scope seen, and leaves the last slot free"


@virtual
async def test_the_only_scope_has_every_slot() -> None:
    destination = FakeDestination([Step(latency_s=1.0)] * 3)
    async with FakeSink(destination).open(small(max_in_flight_requests=3)) as writer:
        await writer.write_many(entries(1, 9, route="a"))
        await settled()
        assert len(destination.in_flight) == 3
