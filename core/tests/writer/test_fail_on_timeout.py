"""``fail_on_timeout``: the deadline of a request makes the writer fail, in place of sending it again."""

from __future__ import annotations

import anyio
import pytest

from asyncsink import RequestTimedOutError, WriterFailedError
from asyncsink_testing import FakeDestination, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small, stored
from .rejected import held, hold_that_it_adds_up


@virtual
async def test_the_writer_fails_at_the_deadline_and_keeps_every_entry() -> None:
    destination = FakeDestination([Fault.HANGING, Step(latency_s=99.0)])
    async with FakeSink(destination).open(small(fail_on_timeout=True, max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 8))
        with pytest.raises(RequestTimedOutError) as caught:
            await writer.flush(end_of_input=True)
        assert anyio.current_time() == 10.0
        with pytest.raises(WriterFailedError, match="fail_on_timeout"):
            await writer.flush()
        assert held(writer) == [*range(1, 9)]
        hold_that_it_adds_up(writer)
        await settled()
        assert destination.in_flight == {}
    assert isinstance(caught.value.__cause__, TimeoutError)
    request, text = str(caught.value).split(" of 3 entries had ")
    assert request in {f"request {each.id}" for each in destination.requests}
    assert text == (
        "no answer within request_timeout_s = 10, and fail_on_timeout is set; raise the former, or unset the latter to "
        "have it sent again"
    )


@virtual
async def test_an_answer_after_the_deadline_comes_too_late() -> None:
    destination = FakeDestination([Step(latency_s=12.0, uncut_s=20.0)])
    async with FakeSink(destination).open(small(fail_on_timeout=True)) as writer:
        await writer.write_many(entries(1, 3))
        await anyio.sleep(13.0)
        with pytest.raises(RequestTimedOutError):
            await writer.flush()
        assert (stored(destination), held(writer)) == ([1, 2, 3], [1, 2, 3])
        hold_that_it_adds_up(writer)


@virtual
async def test_a_timeout_of_the_connectors_own_is_an_outage_as_ever() -> None:
    destination = FakeDestination([Fault.DISCONNECTED])
    async with FakeSink(destination).open(small(fail_on_timeout=True)) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=True)
    assert stored(destination) == [1, 2, 3]
