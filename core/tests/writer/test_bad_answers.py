"""Answers of a connector with a bug: the writer fails with its name, and costs no entry."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink import Failure, FailureKind, FatalRequestError, RequestEntries, RequestError, RequestResult
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink_testing import FakeClient, FakeDestination, FakeEntry, FakeSink
from asyncsink_testing.virtual_time import virtual

from .harness import entries, settled, small
from .rejected import keeping

SOON: Any = "soon"
SOME: Any = 404
ODD: Any = b"because"


class Broken(FakeSink):
    """Answers each request in the same wrong way; cannot measure what is named so."""

    answer: RequestResult | RequestError

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        if isinstance(self.answer, RequestError):
            raise self.answer
        return self.answer

    def size_in_bytes(self, entry: Any) -> int:
        if entry.name == "immeasurable":
            raise LookupError("how large is it")
        return super().size_in_bytes(entry)


def replaced(kind: FailureKind, entry: FakeEntry) -> RequestResult:
    return RequestResult({1: Failure("again", kind=kind, replacement=entry)})


ANSWERS: dict[str, tuple[RequestResult | RequestError, str]] = {
    "route-retryable": (replaced(FailureKind.RETRYABLE, FakeEntry(2, route="b")), "route 'b'.*'a'"),
    "route-throttled": (replaced(FailureKind.THROTTLED, FakeEntry(2, route="b")), "route 'b'.*'a'"),
    "route-rejected": (replaced(FailureKind.REJECTED, FakeEntry(2, route="b")), "route 'b'.*'a'"),
    "size-retryable": (replaced(FailureKind.RETRYABLE, FakeEntry("immeasurable", route="a")), "LookupError"),
    "size-throttled": (replaced(FailureKind.THROTTLED, FakeEntry("immeasurable", route="a")), "LookupError"),
    "wait-of-a-throttled-entry": (RequestResult({0: Failure("Throttled", retry_after_s=SOON)}), "ValueError.*soon"),
    "wait-of-a-failed-entry": (RequestResult({0: Failure("InternalError", retry_after_s=SOON)}), "ValueError.*soon"),
    "wait-of-a-throttled-request": (RequestError("Throttled", "", SOON), "TypeError"),
    "wait-of-a-failed-request": (RequestError("Unavailable", "", SOON), "TypeError"),
    "code-of-an-entry": (
        RequestResult({1: Failure(SOME, kind=FailureKind.REJECTED)}),
        "TypeError: a Failure has a code",
    ),
    "message-of-an-entry": (RequestResult({1: Failure("no", ODD, FailureKind.REJECTED)}), "TypeError: a Failure has"),
    "code-of-a-request": (RequestError(SOME), "TypeError: a RequestError has a code"),
    "message-of-a-request": (RequestError("Rejected", ODD), "TypeError: a RequestError has a code or a message"),
    "no-failure": (RequestResult({0: SOON}), "AttributeError"),
}


@pytest.mark.parametrize("mode", ["fail", "dead_letter"])
@pytest.mark.parametrize("which", ANSWERS)
@virtual
async def test_the_writer_fails_and_its_snapshot_holds_every_unacknowledged_entry(which: str, mode: str) -> None:
    answer, text = ANSWERS[which]
    sink = Broken(FakeDestination())
    sink.answer = RequestResult.OK
    async with sink.open(small() if mode == "fail" else keeping(DeadLetterMemory())) as writer:
        await writer.write_many(entries(1, 3, route="a"))
        await writer.flush(end_of_input=True)
        sink.answer = answer
        await writer.write_many(entries(4, 8, route="a"))
        await settled()
        with pytest.raises(FatalRequestError, match=text):
            await writer.flush()
        (state,) = writer.snapshot_state()
        assert [entry.name for entry in state.entries] == [4, 5, 6, 7, 8]
        told = writer.statistics()
        assert (told.acknowledged, told.unacknowledged, told.in_flight_requests, told.size_in_bytes) == (3, 5, 0, 5)
