"""At each flush the counters are compared with what the writer really holds."""

from __future__ import annotations

import pytest

from asyncsink import AccountingError, WriterFailedError
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small


@pytest.mark.parametrize("end_of_input", [True, False])
@pytest.mark.parametrize(
    ("counter", "by"), [("acknowledged", -1), ("acknowledged", 1), ("accepted", 1), ("dropped", -1)]
)
@virtual
async def test_a_counter_that_is_wrong_fails_the_next_flush(counter: str, by: int, end_of_input: bool) -> None:
    destination = FakeDestination()
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 6))
        await settled()
        await writer.flush(end_of_input)
        accounting = writer._accounting
        setattr(accounting, counter, getattr(accounting, counter) + by)
        await writer.write(FakeEntry(7))
        with pytest.raises(AccountingError, match=r"elements are held, but accepted .*report it"):
            await writer.flush(end_of_input)
        with pytest.raises(WriterFailedError):
            await writer.flush(end_of_input)


@virtual
async def test_entries_that_are_lost_or_doubled_are_noticed() -> None:
    destination = FakeDestination()
    destination.script([], then=Step(latency_s=1.0))
    async with FakeSink(destination).open(small(max_time_in_buffer_s=100.0)) as writer:
        await writer.write_many(entries(1, 4))
        await settled()
        writer._engine.waiting_count += 1
        with pytest.raises(AccountingError, match="2 elements are held"):
            await writer.flush()


@virtual
async def test_counts_that_add_up_pass_with_requests_under_way_and_a_tail_open() -> None:
    destination = FakeDestination()
    destination.script([Step(latency_s=1.0)], then=Step(latency_s=50.0))
    config = small(max_in_flight_requests=2, max_time_in_buffer_s=100.0, request_timeout_s=99.0)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(entries(1, 3))
        await settled()
        await writer.flush()
        await writer.write_many(entries(4, 7))
        await writer.write(FakeEntry(8))
        await writer.flush()
        assert writer.statistics().acknowledged == 6
        assert writer.statistics().unacknowledged == 2
        await writer.flush(end_of_input=True)
    assert writer.statistics().acknowledged == 8
