"""Each scripted fault is seen by a bare client as what it is."""

from __future__ import annotations

import anyio
import pytest
import trio
import trio.testing

from asyncsink import Failure, ListBlock, ListRequestEntries, RequestError, RequestResult
from asyncsink_testing import Ending, FakeDestination, FakeEntry, FakeSink, Fault, RecordedWriter, Step, check
from asyncsink_testing.virtual_time import run_in_virtual_time

ENTRIES = [FakeEntry("a"), FakeEntry("b"), FakeEntry("c")]


def send(step: Step, timeout_s: float = 10.0) -> tuple[FakeDestination, RequestResult | BaseException | None]:
    """The destination after one request, and its answer: None if there was none in time."""
    destination = FakeDestination([step])

    async def main() -> RequestResult | BaseException | None:
        request = ListRequestEntries(ListBlock(ENTRIES, [1, 1, 1]))
        with anyio.move_on_after(timeout_s):
            try:
                return await destination.handle(request, writer=1, scope=None)
            except (RequestError, OSError) as error:
                return error
        return None

    clock = trio.testing.MockClock(autojump_threshold=0)
    return destination, trio.run(main, clock=clock)


@pytest.mark.parametrize(
    ("fault", "kept", "ending", "code"),
    [
        (Fault.OK, 3, Ending.ANSWERED, None),
        (Fault.THROTTLED, 0, Ending.THROTTLED, "Throttled"),
        (Fault.REFUSED, 0, Ending.UNKNOWN, "Unavailable"),
        (Fault.ANSWER_LOST, 3, Ending.UNKNOWN, OSError),
        (Fault.ANSWER_CUT, 3, Ending.UNKNOWN, OSError),
        (Fault.DISCONNECTED, 0, Ending.UNKNOWN, OSError),
        (Fault.HANGING, 0, Ending.CUT, "no answer"),
        (Fault.HANGING_STORED, 3, Ending.CUT, "no answer"),
        (Fault.REJECTED, 0, Ending.REJECTED, "Malformed"),
        (Fault.FATAL, 0, Ending.FATAL, "Forbidden"),
        (Fault.PARTLY_THROTTLED, 1, Ending.ANSWERED, "Throttled"),
        (Fault.PARTLY_FAILED, 1, Ending.ANSWERED, "InternalError"),
        (Fault.PARTLY_MIXED, 1, Ending.ANSWERED, "Throttled InternalError"),
        (Fault.POISONED, 1, Ending.ANSWERED, "Malformed"),
    ],
    ids=lambda value: value.value if isinstance(value, Fault) else None,
)
def test_a_fault_stores_and_answers_as_its_sentence_says(fault: Fault, kept: int, ending: Ending, code: object) -> None:
    destination, answer = send(Step.partly(fault, 0, 2, latency_s=1.0))
    (request,) = destination.requests
    assert len(destination.received) == kept
    assert request.ending is ending
    assert destination.peak_in_flight == 1
    assert destination.in_flight_entries == destination.in_flight_size_in_bytes == 0
    if code is None:
        assert answer == RequestResult.OK
    elif code == "no answer":
        assert answer is None
        assert request.ended_s == 10.0
    elif fault.by_index:
        assert isinstance(answer, RequestResult)
        said = str(code).split()
        assert answer.failed == {0: Failure(said[0]), 2: Failure(said[-1])}
    elif code is OSError:
        assert isinstance(answer, OSError)
    else:
        assert isinstance(answer, RequestError)
        assert answer.code == code


def test_every_fault_is_covered_above() -> None:
    (mark,) = [
        mark
        for mark in test_a_fault_stores_and_answers_as_its_sentence_says.pytestmark  # type: ignore[attr-defined]
        if mark.name == "parametrize"
    ]
    in_a_script_only = {Fault.SLOW, Fault.RETRY_AFTER}
    assert {row[0] for row in mark.args[1]} == set(Fault) - in_a_script_only


def test_a_retry_after_is_handed_on() -> None:
    _, answer = send(Step(Fault.THROTTLED, retry_after_s=7.0))
    assert isinstance(answer, RequestError)
    assert answer.retry_after_s == 7.0


def test_an_answer_that_cannot_be_cut_comes_after_the_deadline() -> None:
    destination, answer = send(Step(latency_s=12.0, uncut_s=13.0))
    assert answer == RequestResult.OK
    assert destination.requests[0].ended_s == 12.0


def test_what_arrived_is_kept_entry_by_entry() -> None:
    destination, _ = send(Step(latency_s=2.0))
    last = destination.received[-1]
    assert (last.payload, last.position, last.time_s, last.request, last.attempt) == (ENTRIES[2], 2, 2.0, 0, 1)


def test_the_program_of_the_readme_accounts_for_every_entry() -> None:
    destination = FakeDestination([Step(Fault.ANSWER_LOST), Step(Fault.THROTTLED)])

    async def main() -> None:
        async with RecordedWriter(FakeSink(destination)) as writer:
            await writer.write_many([FakeEntry(number) for number in range(10)])
        check(destination.history)

    run_in_virtual_time(main)
    assert set(destination.stored) == {FakeEntry(number) for number in range(10)}
