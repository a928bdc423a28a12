"""What becomes of a request and its entries when an answer, or the lack of one, has come."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from asyncsink.dead_letters import DeadLetterReason
from asyncsink.errors import (
    DeliveryError,
    DestinationUnavailableError,
    FatalRequestError,
    RequestError,
    RequestRejectedError,
    RequestTimedOutError,
)
from asyncsink.failures import Failure, FailureKind
from asyncsink.request import RequestResult
from asyncsink.writer.buffer import Run
from asyncsink.writer.engine import Engine
from asyncsink.writer.outcome import Judge, Outcome
from asyncsink.writer.rejecting import Rejections
from asyncsink.writer.request import InFlightRequest
from asyncsink.writer.scope import Scope
from asyncsink.writer.sorting import Failed, Limits, Sorted, sort_entries

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink


class Settlement:
    """Settles requests: acknowledges, returns, parks, seals, halves or gives up entries, backs off, fails.

    Two kinds of failure: of the *destination*, bounded by ``retry.timeout_s``, and of an *entry*, bounded by
    ``retry.max_attempts``. See :class:`~asyncsink.FailureKind` for what follows from which.
    """

    def __init__(self, sink: AsyncSink[Any, Any, Any], engine: Engine, rejections: Rejections) -> None:
        self._engine, self._retry, self._rejections = engine, engine.config.retry, rejections
        self._accounting, self._time = engine.accounting, engine.time
        self._judge = Judge(sink.error_table(), type(sink).__name__)
        self.retried = self.throttled = self.failed_requests = 0
        self.last_send_time_s: float | None = None
        engine.time.on_timeout = self._time_out
        engine.time.on_time_up = self._time_up

    def ended(self, request: InFlightRequest[Any], answer: Any) -> None:
        """A worker has an answer, or the exception that took its place."""
        engine = self._engine
        try:
            if request.over:
                self._settle_late(request, answer)
            elif type(answer) is RequestResult and not answer.failed:
                self._release(request, 0, 0, None)
                self._accounting.acknowledged += request.length
                engine.size_in_bytes -= request.size
                if engine.keyed:
                    request.lane.free(request.pieces)
                request.lane.scope.limiter.succeed()
                if answer.pause_s is not None:
                    self._pause(request, answer.pause_s)
            else:
                self._settle(request, self._judged(request, answer))
            engine.go_on(request.lane)
        except Exception as error:
            engine.fail_while(f"settling request {request.id}", error)

    def _pause(self, request: InFlightRequest[Any], pause_s: float) -> None:
        """The service wants to be left alone, though it has answered."""
        request.lane.scope.limiter.pause(self._engine.clock(), pause_s)

    def _release(
        self,
        request: InFlightRequest[Any],
        failed: int,
        throttled: int,
        retry_after_s: float | None,
        ignored: bool = False,
    ) -> None:
        now_s = self._engine.clock()
        self.last_send_time_s = now_s - request.start_s
        if failed < request.length:
            self._time.progress_s = now_s
        self._engine.release(request, failed, throttled, retry_after_s, now_s, ignored)

    def _judged(self, request: InFlightRequest[Any], answer: Any) -> Outcome:
        """What an answer means; fatal if entries would come back alone where cuts must not depend on answers."""
        outcome = self._judge.judge(answer, len(request))
        if self._engine.cuts is None or outcome.is_throttled(len(request)):
            return outcome
        for kind, failure in outcome.failures.values():
            if kind in (FailureKind.THROTTLED, FailureKind.RETRYABLE):
                error = RequestError(failure.code, f"{failure.message or 'of single entries'}. {_NOT_ALONE}")
                return Outcome(FailureKind.FATAL, failure.code, error)
        return outcome

    # ---- the whole request -----------------------------------------------------------------------------------

    def _settle(self, request: InFlightRequest[Any], outcome: Outcome) -> None:
        if outcome.kind is None:
            if outcome.pause_s is not None:
                self._pause(request, outcome.pause_s)
            entries = self._sorted(request, outcome)
            wait_s, ignored = entries.throttle_wait_s, entries.says_nothing_of_load
            self._release(request, entries.count, entries.throttled_count, wait_s, ignored)
            self._settle_entries(request, outcome, entries)
            return
        count, throttles = len(request), outcome.kind is FailureKind.THROTTLED
        rejects = outcome.kind is FailureKind.REJECTED
        self._release(request, count, count if throttles else 0, outcome.retry_after_s, ignored=rejects)
        self._settle_whole(request, outcome)

    def _sorted(self, request: InFlightRequest[Any], outcome: Outcome) -> Sorted:
        limits = Limits(self._retry.max_attempts, self._engine.max_record_size_in_bytes)
        return sort_entries(request, outcome, self._engine.maker, limits)

    def _settle_whole(self, request: InFlightRequest[Any], outcome: Outcome) -> None:
        self.failed_requests += 1
        if outcome.kind is FailureKind.THROTTLED:
            self.throttled += len(request)
        elif outcome.kind is FailureKind.RETRYABLE:
            request.sealed = True
        elif outcome.kind is FailureKind.REJECTED:
            self._refuse_whole(request, outcome)
            return
        if outcome.kind is FailureKind.THROTTLED and (request.path or self._engine.cuts is not None):
            # Cut anew together with the other half it would be refused again, and where that is throttled, for ever.
            self._engine.seal(request)
        else:
            self._engine.put_back(request)
        if outcome.kind in (FailureKind.THROTTLED, FailureKind.RETRYABLE):
            self.retried += len(request)
            self._back_off(request, outcome)
        else:
            text = f"request {request.id} of {_entries(len(request))}"
            raise self._hopeless(text, outcome.kind, outcome.code, outcome.error)

    def _refuse_whole(self, request: InFlightRequest[Any], outcome: Outcome) -> None:
        """Nothing was stored, because of what it holds: it is halved until the entries at fault are alone."""
        request.lane.scope.limiter.succeed()
        if len(request) > 1:
            self.retried += len(request)
            self._bisect(request)
            return
        (run,) = request.pieces
        failure = Failure(outcome.code, _message(outcome.error))
        request.lane.free((run,))
        self._give_up(request, [Failed(run, [failure])], DeadLetterReason.REJECTED)
        if self._rejections.fails:
            text = f"the only entry of request {request.id}"
            raise self._hopeless(text, FailureKind.REJECTED, outcome.code, outcome.error)

    def _bisect(self, request: InFlightRequest[Any]) -> None:
        """Two requests out of one that was refused; under way at once, unless they share a key that has an order."""
        lane = request.lane
        parts = lane.halves(request)
        first, second = (request.part(pieces, which) for which, pieces in enumerate(parts))
        for pieces in parts:
            lane.hold(pieces)
        lane.free(request.pieces)
        if lane.share_a_key(*parts):
            # Sealed, so that no entry of the first can return to the buffer and be overtaken by the second.
            first.sealed = second.sealed = True
            second.after = first.path
        for half in (first, second):
            self._engine.seal(half)

    def _back_off(self, request: InFlightRequest[Any], outcome: Outcome) -> None:
        """The destination may recover: go on when the backoff of its scope has ended, unless its time is up."""
        now_s, limiter = self._engine.clock(), request.lane.scope.limiter
        limiter.back_off(request.scope_start, now_s, outcome.retry_after_s, outcome.error)
        if request.sealed:
            if request.failing_since_s is None:
                request.failing_since_s = now_s
            # It may wait for long while others of its scope are in flight; nothing else would look at its time.
            self._engine.alarm.set(request.failing_since_s + self._retry.timeout_s)
        since_s = min(_or_inf(limiter.failing_since_s), _or_inf(request.failing_since_s))
        if now_s - since_s >= self._retry.timeout_s:
            raise self._unavailable(now_s - since_s, outcome.error)

    def _time_out(self, request: InFlightRequest[Any], error: BaseException) -> None:
        outcome = Outcome(FailureKind.RETRYABLE, type(error).__name__, error)
        try:
            self._settle(request, outcome)
            if self._engine.config.fail_on_timeout:
                raise RequestTimedOutError(
                    f"request {request.id} of {_entries(len(request))} had {error}, "
                    "and fail_on_timeout is set; raise the former, or unset the latter to have it sent again"
                ) from error
        except DeliveryError as failure:
            self._engine.fail(failure)

    def _time_up(self, scope: Scope, late_s: float) -> None:
        self._engine.fail(self._unavailable(self._retry.timeout_s + late_s, scope.limiter.last_failure))

    def _settle_late(self, request: InFlightRequest[Any], answer: Any) -> None:
        """An answer after the deadline is used if the request has not been sent again, and ignored otherwise."""
        if not self._engine.is_open or not isinstance(answer, RequestResult) or request not in request.lane.sealed:
            return
        outcome = self._judged(request, answer)
        if outcome.pause_s is not None:
            self._pause(request, outcome.pause_s)
        if outcome.kind is None and not outcome.is_throttled(len(request)):
            entries = self._sorted(request, outcome)
            request.lane.sealed.remove(request)
            self._time.progress_s = self._engine.clock()
            self.retried -= len(request)
            self._settle_entries(request, outcome, entries)

    # ---- entry by entry --------------------------------------------------------------------------------------

    def _settle_entries(self, request: InFlightRequest[Any], outcome: Outcome, entries: Sorted) -> None:
        """The destination answered entry by entry; the request holds nothing any more."""
        if (request.sealed or request.path or self._engine.cuts) and outcome.is_throttled(len(request)):
            # Nothing new is known of what was stored before, or of the other half, so it stays as it is, to the letter.
            failure = outcome.failures[0][1]
            error = RequestError(failure.code, failure.message)
            self._settle_whole(request, Outcome(FailureKind.THROTTLED, failure.code, error, entries.throttle_wait_s))
            return
        engine = self._engine
        self._accounting.acknowledged += len(request) - entries.count
        engine.size_in_bytes += entries.size_in_bytes - request.size_in_bytes
        request.lane.free(request.pieces)
        for failed in (*entries.throttled, *entries.fatal):
            engine.give_back(request.lane, failed.run)
        for failed in entries.retryable:
            self._park(request, failed.run, entries.retry_wait_s)
        if entries.throttled or entries.retryable:
            self._unseal_followers(request)
        self._give_up(request, entries.rejected, DeadLetterReason.REJECTED)
        self._give_up(request, entries.oversized, DeadLetterReason.OVERSIZED)
        self._give_up(request, entries.exhausted, DeadLetterReason.EXHAUSTED)
        self.retried += entries.count - entries.hopeless_count
        self.throttled += entries.throttled_count
        self._back_off_entries(request, outcome, entries)
        self._raise_hopeless(request, entries)

    def _unseal_followers(self, request: InFlightRequest[Any]) -> None:
        """Entries of a first half are in the buffer again, so what has to come after them goes behind them there."""
        lane = request.lane
        parts = [each for each in lane.sealed if each.number == request.number]
        for each in [each for each in parts if each.after is not None and request.is_part_of(each.after)]:
            lane.sealed.remove(each)
            each.sealed = False
            self._engine.put_back(each)

    def _give_up(self, request: InFlightRequest[Any], hopeless: list[Failed], reason: DeadLetterReason) -> None:
        """Entries that can never be delivered; back in the buffer, for a snapshot, where that makes the writer fail."""
        for run, failures in hopeless:
            if self._rejections.fails:
                self._engine.give_back(request.lane, run)
            else:
                self._rejections.give_up(request.lane, run, failures, reason)

    def _back_off_entries(self, request: InFlightRequest[Any], outcome: Outcome, entries: Sorted) -> None:
        """Throttled entries hold the scope back; one that was stored or judged says that the destination works."""
        if outcome.is_throttled(len(request)):
            self.failed_requests += 1
            failure = outcome.failures[0][1]
            error = RequestError(failure.code, failure.message)
            self._back_off(request, Outcome(FailureKind.THROTTLED, failure.code, error, entries.throttle_wait_s))
            return
        limiter = request.lane.scope.limiter
        limiter.succeed()
        if entries.throttled:
            limiter.back_off(request.scope_start, self._engine.clock(), entries.throttle_wait_s, None)

    def _park(self, request: InFlightRequest[Any], run: Run, asked_s: float) -> None:
        """Entries that failed by themselves wait a backoff of their own; the others need not wait for them."""
        jitter_s = request.lane.scope.limiter.jitter_s(run.attempts)
        wait_s = max(jitter_s, min(asked_s, self._retry.retry_after_cap_s))
        if wait_s:
            self._engine.park(request.lane, run, wait_s)
        else:
            self._engine.give_back(request.lane, run)

    # ---- no way on -------------------------------------------------------------------------------------------

    def _raise_hopeless(self, request: InFlightRequest[Any], entries: Sorted) -> None:
        """Fail if an entry can never be delivered; all entries have their places by now."""
        fails = self._rejections.fails
        refused = [*entries.rejected, *entries.oversized] if fails else []
        for kind, failed in ((FailureKind.FATAL, entries.fatal), (FailureKind.REJECTED, refused)):
            if failed:
                count, failure = sum(len(each.run) for each in failed), failed[0].failures[0]
                text = f"{_entries(count)} of the {len(request)} of request {request.id}"
                raise self._hopeless(text, kind, failure.code, RequestError(failure.code, failure.message))
        if entries.exhausted and fails:
            count = sum(len(each.run) for each in entries.exhausted)
            raise self._exhausted(request.id, count, entries.exhausted[0].failures[0])

    def _hopeless(self, text: str, kind: FailureKind | None, code: str, error: BaseException | None) -> DeliveryError:
        failure: DeliveryError
        remedy = self._judge.remedy(code)
        if kind is FailureKind.REJECTED:
            said = _said(error).rstrip(".")
            failure = RequestRejectedError(f"{text} refused by the destination: {said}.{remedy} {_GO_ON}")
        else:
            failure = FatalRequestError(f"{text} failed for good: {_said(error).rstrip('.')}.{remedy}")
        failure.__cause__ = error
        return failure

    def _exhausted(self, id: str, count: int, failure: Failure) -> DeliveryError:
        error = RequestError(failure.code, failure.message)
        exhausted = RequestRejectedError(
            f"{count} {'entry has' if count == 1 else 'entries have'} failed retry.max_attempts = "
            f"{self._retry.max_attempts} times, the last time in request {id} with {_said(error).rstrip('.')}. {_GO_ON}"
        )
        exhausted.__cause__ = error
        return exhausted

    def _unavailable(self, for_s: float, cause: BaseException | None) -> DeliveryError:
        error = DestinationUnavailableError(
            f"the destination has taken nothing for {for_s:.1f} s (retry.timeout_s = {self._retry.timeout_s:g}); "
            f"the last failure was {_said(cause).rstrip('.')}. See to it that it can be reached and has room, or raise "
            "retry.timeout_s"
        )
        error.__cause__ = cause
        return error


_GO_ON = 'Mend what is written; to go on without such entries, set on_rejected to "dead_letter" or "drop".'

_NOT_ALONE = (
    "With batching = 'deterministic' no entry goes again without its request, so a destination must judge requests "
    "whole; use batching = 'eager'"
)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _or_inf(time_s: float | None) -> float:
    return inf if time_s is None else time_s


def _said(error: BaseException | None) -> str:
    return str(error) if isinstance(error, RequestError) else f"{type(error).__name__}: {error}"


def _message(error: BaseException | None) -> str:
    return error.message if isinstance(error, RequestError) else str(error or "")
