"""An answer entry by entry, sorted into what is done and what comes back. Pure: it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asyncsink.failures import Failure, FailureKind
from asyncsink.writer.buffer import Run
from asyncsink.writer.make import BlockMaker
from asyncsink.writer.outcome import Outcome
from asyncsink.writer.request import InFlightRequest


@dataclass(frozen=True, slots=True)
class Sorted:
    """What becomes of the entries of a request that was answered.

    :ivar throttled: go to the head of the buffer
    :ivar retryable: wait a backoff of their own, with one attempt more
    :ivar hopeless: were rejected or failed for good; they stay, and the writer fails
    :ivar size_in_bytes: of all that comes back, replacements measured
    :ivar throttle_wait_s: the longest time for which the service asked to be left alone
    :ivar retry_wait_s: the longest after which it wants to see a retryable entry again
    """

    throttled: list[Run]
    retryable: list[Run]
    hopeless: list[Run]
    size_in_bytes: int
    throttle_wait_s: float | None
    retry_wait_s: float

    @property
    def throttled_count(self) -> int:
        return sum(map(len, self.throttled))

    @property
    def count(self) -> int:
        """Entries that come back."""
        return sum(len(run) for runs in (self.throttled, self.retryable, self.hopeless) for run in runs)


def sort_entries(request: InFlightRequest[Any], outcome: Outcome, maker: BlockMaker) -> Sorted:
    """Sort the failed entries of a request into runs; nothing has been changed if this raises.

    :raises FatalRequestError: a replacement belongs to another route
    """
    throttled = _runs(request, outcome, (FailureKind.THROTTLED,), maker)
    retryable = _runs(request, outcome, (FailureKind.RETRYABLE,), maker)
    hopeless = _runs(request, outcome, (FailureKind.REJECTED, FailureKind.FATAL), maker)
    return Sorted(
        throttled,
        retryable,
        hopeless,
        sum(run.size_in_bytes for runs in (throttled, retryable, hopeless) for run in runs),
        _longest_wait_s(outcome, FailureKind.THROTTLED) or None,
        _longest_wait_s(outcome, FailureKind.RETRYABLE),
    )


def _longest_wait_s(outcome: Outcome, kind: FailureKind) -> float:
    return max((float(each.retry_after_s or 0) for of, each in outcome.failures.values() if of is kind), default=0.0)


def _runs(
    request: InFlightRequest[Any], outcome: Outcome, kinds: tuple[FailureKind, ...], maker: BlockMaker
) -> list[Run]:
    """The entries that failed in one of these ways, a run for each piece of the request they stood in."""
    places: dict[int, tuple[Run, list[int], list[Failure]]] = {}
    for index in sorted(index for index, (kind, _) in outcome.failures.items() if kind in kinds):
        piece, at = request.place(index)
        _, chosen, failures = places.setdefault(id(piece), (piece, [], []))
        chosen.append(at)
        failures.append(outcome.failures[index][1])
    more = 1 if FailureKind.RETRYABLE in kinds else 0
    return [
        _replaced(piece.take(chosen, piece.attempts + more), failures, request, maker)
        for piece, chosen, failures in places.values()
    ]


def _replaced(run: Run, failures: list[Failure], request: InFlightRequest[Any], maker: BlockMaker) -> Run:
    """The run with the entries that the answer has made anew, measured again, in the places of the old ones."""
    replacements = {at: each.replacement for at, each in enumerate(failures) if each.replacement is not None}
    if not replacements:
        return run
    block = maker.replaced(run.block.slice(run.start, run.stop), replacements, request.route)
    sequence = [run.sequence_of(index) for index in range(run.start, run.stop)]
    return Run(block, 0, len(block), 0, sequence, run.attempts)
