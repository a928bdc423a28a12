"""A failure that no retry can mend surfaces once, and costs no entry."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import (
    Failure,
    FatalRequestError,
    RequestEntries,
    RequestError,
    RequestRejectedError,
    RequestResult,
    WriterFailedError,
)
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small, stored


@virtual
async def test_a_fatal_answer_surfaces_once_chained_to_its_cause_with_its_remedy() -> None:
    destination = FakeDestination([Fault.FATAL])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await settled()
        with pytest.raises(FatalRequestError, match=r"Forbidden.*Allow this program to write") as caught:
            await writer.write(FakeEntry(4))
        assert isinstance(caught.value.__cause__, RequestError)
        for _ in range(2):
            with pytest.raises(WriterFailedError, match="Forbidden") as later:
                await writer.write(FakeEntry(4))
            assert later.value.__cause__ is caught.value
        with pytest.raises(WriterFailedError):
            await writer.flush(end_of_input=True)


@pytest.mark.parametrize("call", ["write", "write_many", "write_nowait", "wait_available", "flush"])
@virtual
async def test_the_next_call_of_any_kind_raises_it(call: str) -> None:
    destination = FakeDestination([Fault.FATAL])
    async with FakeSink(destination).open(small()) as writer:
        # A fourth entry leaves a tail open, to which a write could add without looking.
        await writer.write_many(entries(1, 2))
        await writer.write(FakeEntry(3))
        await writer.write(FakeEntry(4))
        await settled()
        with pytest.raises(FatalRequestError):  # noqa: PT012
            match call:
                case "write":
                    await writer.write(FakeEntry(5))
                case "write_many":
                    await writer.write_many(entries(5, 6))
                case "write_nowait":
                    writer.write_nowait(FakeEntry(5))
                case "wait_available":
                    await writer.wait_available()
                case "flush":
                    await writer.flush()
        assert writer.statistics().accepted == 4


@virtual
async def test_waiting_calls_are_woken_by_the_failure() -> None:
    destination = FakeDestination([Step(Fault.FATAL, 2.0)])
    async with FakeSink(destination).open(small(max_buffered_requests=4)) as writer:
        with pytest.raises(FatalRequestError):
            await writer.write_many(entries(1, 30))
        assert anyio.current_time() == 2.0


@virtual
async def test_leaving_raises_a_failure_that_nobody_has_seen() -> None:
    destination = FakeDestination([Step(Fault.FATAL)])
    with pytest.raises(FatalRequestError):
        async with FakeSink(destination).open(small()) as writer:
            await writer.write_many(entries(1, 3))
    assert writer.statistics().unacknowledged == 3


@virtual
async def test_a_failure_that_was_raised_once_is_not_raised_by_leaving_or_closing() -> None:
    destination = FakeDestination([Step(Fault.FATAL)])
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        with pytest.raises(FatalRequestError):
            await writer.flush(end_of_input=True)
        await writer.aclose()
    assert writer.statistics().unacknowledged == 3


@virtual
async def test_a_code_that_no_table_has_is_fatal_for_a_request_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    destination = FakeDestination()
    sink = Raising(destination)
    sink.answer = RequestError("418", "a teapot")
    async with sink.open(small(max_in_flight_requests=3)) as writer:
        await writer.write_many(entries(1, 9))
        with pytest.raises(FatalRequestError, match="418: a teapot"):
            await writer.flush(end_of_input=True)
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [each for each in warnings if "'418' is not in its ErrorTable; taken as fatal" in each] == warnings[:1]
    assert [entry.name for entry in writer.snapshot_state()[0].entries] == [*range(1, 10)]


@virtual
async def test_in_flight_is_released_and_every_entry_stays_in_the_snapshot() -> None:
    destination = FakeDestination([Step(latency_s=9.0), Step(Fault.FATAL, 1.0)])
    async with FakeSink(destination).open(small(max_in_flight_requests=2)) as writer:
        await writer.write_many(entries(1, 8))
        await anyio.sleep(2.0)
        statistics = writer.statistics()
        assert (statistics.in_flight_requests, statistics.in_flight_entries) == (0, 0)
        assert [entry.name for entry in writer.snapshot_state()[0].entries] == [*range(1, 9)]
        assert destination.in_flight == {}
        with pytest.raises(FatalRequestError):
            await writer.flush()


@pytest.mark.parametrize("fault", [Fault.REJECTED, Fault.POISONED])
@virtual
async def test_a_rejected_entry_fails_the_writer_by_name_and_stays(fault: Fault) -> None:
    # A request that is refused as a whole is halved until the entry at fault is alone.
    steps = [Step.partly(fault, 1)] if fault is Fault.POISONED else [Step(fault), Step(), Step(fault), Step(fault)]
    held = [2] if fault is Fault.POISONED else [2, 3]
    destination = FakeDestination()
    destination.script(steps, then=fault)
    async with FakeSink(destination).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await settled()
        with pytest.raises(RequestRejectedError, match="Malformed"):
            await writer.flush()
        assert [entry.name for entry in writer.snapshot_state()[0].entries] == held


class Raising(FakeSink):
    """Raises or returns what it is told."""

    answer: Any = None

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        if isinstance(self.answer, BaseException):
            raise self.answer
        result: RequestResult = self.answer
        return result


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (KeyError("a bug"), "KeyError"),
        (RequestError("NeverHeardOf", "what is it"), "NeverHeardOf"),
        (RequestResult({3: Failure("InternalError")}), "3"),
        (RequestResult({-1: Failure("InternalError")}), "-1"),
        (None, "RequestResult"),
    ],
    ids=["exception", "unknown-code", "index-beyond", "index-below", "no-result"],
)
@virtual
async def test_a_bug_is_no_outage_and_fails_at_once_with_all_entries_kept(answer: Any, text: str) -> None:
    sink = Raising(FakeDestination())
    sink.answer = answer
    async with sink.open(small()) as writer:
        await writer.write_many(entries(1, 3))
        await settled()
        with pytest.raises(FatalRequestError, match=text):
            await writer.flush()
        assert len(writer.snapshot_state()[0].entries) == 3


@virtual
async def test_os_errors_and_timeouts_are_outages() -> None:
    for error in (ConnectionRefusedError("nobody listens"), TimeoutError("too slow"), OSError("no route")):
        sink = Raising(FakeDestination())
        sink.answer = error
        async with sink.open(small()) as writer:
            await writer.write_many(entries(1, 3))
            await anyio.sleep(1.0)
            sink.answer = RequestResult.OK
        assert writer.statistics().acknowledged == 3


@virtual
async def test_an_exception_of_the_body_arrives_as_it_was_though_the_writer_has_failed() -> None:
    destination = FakeDestination([Fault.FATAL])
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with FakeSink(destination).open(small()) as writer:
            await writer.write_many(entries(1, 3))
            await settled()
            raise ZeroDivisionError
    assert stored(destination) == []
