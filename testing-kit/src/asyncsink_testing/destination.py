"""A destination in process: it stores what it is sent, and misbehaves as it is told."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import anyio

from asyncsink import Failure, FailureKind, RequestEntries, RequestError, RequestResult
from asyncsink_testing.faults import OUTCOME_UNKNOWN, Fault, FaultSource, Script, Step
from asyncsink_testing.history import Ending, History, RequestEnded, RequestStarted, SentRequest

THROTTLED = "Throttled"
INTERNAL = "InternalError"
UNAVAILABLE = "Unavailable"
POISONED = "Malformed"
FORBIDDEN = "Forbidden"
"""The codes by which the model answers."""


@dataclass(frozen=True, slots=True)
class Received:
    """One entry that the destination stored.

    :param position: among all entries stored, from 0
    :param request: the number of the arrival that brought it, where the destination knows
    """

    payload: Any
    request_id: str = ""
    attempt: int = 0
    position: int = 0
    time_s: float = 0.0
    request: int = -1


class FakeDestination:
    """The model: virtual time under a virtual clock, and a record of every arrival in :attr:`history`.

    Its latency is ``anyio.sleep``; under trio's autojump clock hours cost nothing. It belongs to one event loop.
    """

    def __init__(self, faults: FaultSource | Iterable[Step | Fault] = ()) -> None:
        self.faults: FaultSource = Script(faults) if isinstance(faults, Iterable) else faults
        self.history = History()
        self.received: list[Received] = []
        self.in_flight: dict[int, SentRequest] = {}
        self.peak_in_flight = 0
        self._arrivals = 0

    def script(self, steps: Iterable[Step | Fault], then: Step | Fault = Fault.OK) -> None:
        self.faults = Script(steps, then)

    @property
    def requests(self) -> list[SentRequest]:
        """Every arrival, in the order of their start."""
        return self.history.requests

    @property
    def stored(self) -> list[Any]:
        """The payloads stored, in order; one that was stored twice stands there twice."""
        return [each.payload for each in self.received]

    @property
    def in_flight_entries(self) -> int:
        return sum(len(request.entries) for request in self.in_flight.values())

    @property
    def in_flight_size_in_bytes(self) -> int:
        return sum(request.size_in_bytes for request in self.in_flight.values())

    async def handle(self, entries: RequestEntries[Any], writer: int, scope: Hashable | None) -> RequestResult:
        """Take one request and answer it by the next step.

        :raises RequestError: it was refused as a whole
        :raises ConnectionResetError: the connection broke
        """
        request = self._arrive(entries, writer, scope)
        try:
            uncut_s = request.step.uncut_s
            if uncut_s:
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + uncut_s) as uncut:
                    await self._wait(request)
            if not uncut_s or uncut.cancelled_caught:
                await self._wait(request)
        except anyio.get_cancelled_exc_class():
            if request.step.fault is Fault.HANGING_STORED:
                self._store(request, range(len(request.entries)))
            self._end(request, Ending.CUT)
            raise
        return self._answer(request)

    def _arrive(self, entries: RequestEntries[Any], writer: int, scope: Hashable | None) -> SentRequest:
        now_s, number = self.history.clock(), self._arrivals
        self._arrivals += 1
        request = SentRequest(
            number, writer, entries.id, entries.attempt, entries.route, scope, tuple(entries), entries.size_in_bytes,
            now_s, Step(),
        )  # fmt: skip
        request.step = self.faults.next_step(request)
        self.in_flight[number] = request
        self.peak_in_flight = max(self.peak_in_flight, len(self.in_flight))
        self.history.add(RequestStarted(now_s, writer, request))
        return request

    async def _wait(self, request: SentRequest) -> None:
        if request.step.fault in (Fault.HANGING, Fault.HANGING_STORED):
            await anyio.sleep_forever()
        await anyio.sleep_until(request.started_s + request.step.latency_s)

    def _answer(self, request: SentRequest) -> RequestResult:
        step, count = request.step, len(request.entries)
        fault = step.fault
        if fault not in OUTCOME_UNKNOWN or fault is Fault.REFUSED:
            request.retry_after_s = step.retry_after_s
        if fault in OUTCOME_UNKNOWN:
            return self._break(request)
        if fault is Fault.THROTTLED:
            self._end(request, Ending.THROTTLED)
            raise RequestError(THROTTLED, "too much at once", step.retry_after_s)
        if fault is Fault.FATAL:
            self._end(request, Ending.FATAL)
            raise RequestError(FORBIDDEN, "not allowed")
        if fault is Fault.REJECTED:
            self._end(request, Ending.REJECTED)
            raise RequestError(POISONED, "not understood")
        codes = _BY_INDEX.get(fault, ())
        failed = step.affected(count) if codes else []
        told = {index: codes[at % len(codes)] for at, index in enumerate(failed)}
        request.failed = {index: kind for index, (_, kind) in told.items()}
        self._store(request, [index for index in range(count) if index not in request.failed])
        self._end(request, Ending.ANSWERED)
        return RequestResult(
            {index: Failure(code, retry_after_s=step.retry_after_s) for index, (code, _) in told.items()}
        )

    def _break(self, request: SentRequest) -> RequestResult:
        if request.step.fault in (Fault.ANSWER_LOST, Fault.ANSWER_CUT):
            self._store(request, range(len(request.entries)))
        self._end(request, Ending.UNKNOWN)
        if request.step.fault is Fault.REFUSED:
            raise RequestError(UNAVAILABLE, "not now", request.step.retry_after_s)
        raise ConnectionResetError("the connection broke")

    def _store(self, request: SentRequest, indices: Iterable[int]) -> None:
        request.stored = frozenset(indices)
        now_s = self.history.clock()
        for index in sorted(request.stored):
            position = len(self.received)
            payload = request.entries[index]
            self.received.append(Received(payload, request.id, request.attempt, position, now_s, request.number))

    def _end(self, request: SentRequest, ending: Ending) -> None:
        request.ending, request.ended_s = ending, self.history.clock()
        del self.in_flight[request.number]
        self.history.add(RequestEnded(request.ended_s, request.writer, request))


_BY_INDEX: dict[Fault, tuple[tuple[str, FailureKind], ...]] = {
    Fault.PARTLY_THROTTLED: ((THROTTLED, FailureKind.THROTTLED),),
    Fault.PARTLY_FAILED: ((INTERNAL, FailureKind.RETRYABLE),),
    Fault.PARTLY_MIXED: ((THROTTLED, FailureKind.THROTTLED), (INTERNAL, FailureKind.RETRYABLE)),
    Fault.POISONED: ((POISONED, FailureKind.REJECTED),),
}
"""The codes that entries get in turn, and their kinds."""
