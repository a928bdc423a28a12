"""An answer entry by entry, sorted into what is done and what comes back. Pure: it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from asyncsink.dead_letters.maker import now_ms
from asyncsink.failures import Failure, FailureKind
from asyncsink.writer.buffer import Run
from asyncsink.writer.make import BlockMaker
from asyncsink.writer.outcome import Outcome
from asyncsink.writer.request import InFlightRequest


class Failed(NamedTuple):
    """Entries that were not stored, and the failure of each."""

    run: Run
    failures: list[Failure]


@dataclass(frozen=True, slots=True)
class Sorted:
    """What becomes of the entries of a request that was answered.

    :ivar throttled: go to the head of the buffer
    :ivar retryable: wait a backoff of their own, with one attempt more
    :ivar rejected: are refused for what they hold
    :ivar oversized: were replaced by what is too large to be ever sent
    :ivar exhausted: have failed as often as an entry may
    :ivar fatal: make the writer fail
    :ivar size_in_bytes: of all that comes back, replacements measured
    :ivar throttle_wait_s: the longest time for which the service asked to be left alone
    :ivar retry_wait_s: the longest after which it wants to see a retryable entry again
    """

    throttled: list[Failed]
    retryable: list[Failed]
    rejected: list[Failed]
    oversized: list[Failed]
    exhausted: list[Failed]
    fatal: list[Failed]
    throttle_wait_s: float | None
    retry_wait_s: float

    def all(self) -> list[Failed]:
        return [*self.throttled, *self.retryable, *self.rejected, *self.oversized, *self.exhausted, *self.fatal]

    @property
    def throttled_count(self) -> int:
        return sum(len(each.run) for each in self.throttled)

    @property
    def hopeless_count(self) -> int:
        return sum(len(each.run) for each in (*self.rejected, *self.oversized, *self.exhausted, *self.fatal))

    @property
    def count(self) -> int:
        """Entries that come back."""
        return sum(len(each.run) for each in self.all())

    @property
    def size_in_bytes(self) -> int:
        return sum(each.run.size_in_bytes for each in self.all())

    @property
    def says_nothing_of_load(self) -> bool:
        """Whether every failure is about what an entry holds."""
        return bool(self.rejected or self.oversized) and not (
            self.throttled or self.retryable or self.exhausted or self.fatal
        )


def sort_entries(request: InFlightRequest[Any], outcome: Outcome, maker: BlockMaker, limits: Limits) -> Sorted:
    """Sort the failed entries of a request into runs; nothing has been changed if this raises.

    :raises FatalRequestError: a replacement belongs to another route, or has another key
    """
    throttled = _runs(request, outcome, FailureKind.THROTTLED, maker)
    retryable = _runs(request, outcome, FailureKind.RETRYABLE, maker)
    oversized = [
        each for failed in (throttled, retryable) for each in _oversized(failed, limits.max_record_size_in_bytes)
    ]
    exhausted = [each for each in retryable if each.run.attempts >= limits.max_attempts]
    return Sorted(
        throttled,
        [each for each in retryable if each.run.attempts < limits.max_attempts],
        _runs(request, outcome, FailureKind.REJECTED, maker),
        oversized,
        exhausted,
        _runs(request, outcome, FailureKind.FATAL, maker),
        _longest_wait_s(outcome, FailureKind.THROTTLED) or None,
        _longest_wait_s(outcome, FailureKind.RETRYABLE),
    )


class Limits(NamedTuple):
    """What no entry may exceed."""

    max_attempts: int
    max_record_size_in_bytes: int


def _oversized(failed: list[Failed], limit: int) -> list[Failed]:
    """Take out the entries that were replaced by what is too large to be ever sent; the others stay."""
    found: list[Failed] = []
    for at, (run, failures) in enumerate(failed):
        large = [index for index in run.block.oversized(limit) if run.start <= index < run.stop]
        if large:
            rest = sorted({*range(run.start, run.stop)}.difference(large))
            text = f"max_record_size_in_bytes = {limit}; raise the limit if the service allows"
            said = [f"a replacement has {run.block.size_in_bytes(i, i + 1)} bytes, more than {text}" for i in large]
            taken = run.take(large, run.attempts, run.failed_ms)
            found.append(Failed(taken, [Failure("OVERSIZED", message) for message in said]))
            kept = run.take(rest, run.attempts, run.failed_ms) if rest else run.part(run.start, run.start)
            failed[at] = Failed(kept, [failures[index - run.start] for index in rest])
    failed[:] = [each for each in failed if each.failures]
    return found


def _longest_wait_s(outcome: Outcome, kind: FailureKind) -> float:
    return max((float(each.retry_after_s or 0) for of, each in outcome.failures.values() if of is kind), default=0.0)


def _runs(request: InFlightRequest[Any], outcome: Outcome, kind: FailureKind, maker: BlockMaker) -> list[Failed]:
    """The entries that failed in this way, a run for each piece of the request they stood in."""
    places: dict[int, tuple[Run, list[int], list[Failure]]] = {}
    for index in outcome.indices(kind):
        piece, at = request.place(index)
        _, chosen, failures = places.setdefault(id(piece), (piece, [], []))
        chosen.append(at)
        failures.append(outcome.failures[index][1])
    more = 1 if kind is FailureKind.RETRYABLE else 0
    return [
        Failed(_replaced(_taken(piece, chosen, more), failures, request, maker), failures)
        for piece, chosen, failures in places.values()
    ]


def _taken(piece: Run, chosen: list[int], more: int) -> Run:
    failed_ms = piece.failed_ms if piece.failed_ms is not None or not more else now_ms()
    return piece.take(chosen, piece.attempts + more, failed_ms)


def _replaced(run: Run, failures: list[Failure], request: InFlightRequest[Any], maker: BlockMaker) -> Run:
    """The run with the entries that the answer has made anew, measured again, in the places of the old ones."""
    replacements = {at: each.replacement for at, each in enumerate(failures) if each.replacement is not None}
    if not replacements:
        return run
    block = maker.replaced(run.block.slice(run.start, run.stop), replacements, request.route)
    sequence = [run.sequence_of(index) for index in range(run.start, run.stop)]
    return Run(block, 0, len(block), 0, sequence, run.attempts, run.failed_ms)
