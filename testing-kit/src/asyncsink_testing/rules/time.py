"""What must wait, what must not, and what a flush means."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import ClassVar

from asyncsink_testing.history import (
    Ending,
    Event,
    FlushCalled,
    FlushReturned,
    History,
    Quiet,
    RequestEnded,
    RequestStarted,
    SentRequest,
)
from asyncsink_testing.ledger import SETTLED, Ledger, Place, Tracked
from asyncsink_testing.rules.base import EPSILON_S, Rule, shown
from asyncsink_testing.rules.ordering import sendable


class RetryAfterHonoured(Rule):
    """No request starts in a scope before the time that its last answers asked for, up to the policy's cap."""

    name = "retry-after-honoured"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        scope = ledger.scope(event.request.scope, event.time_s)
        # What was admitted at the very instant of the answer could not know of it.
        if scope.failed_s + EPSILON_S < event.time_s < scope.not_before_s - EPSILON_S:
            yield (
                f"{event.request} starts before {scope.not_before_s:.6g}, which scope {event.request.scope!r} asked "
                f"for by Retry-After at {scope.failed_s:.6g}"
            )


_WAITING = (Place.BUFFERED, Place.SEALED, Place.HALVED, Place.OWN_BACKOFF)


class NothingIdle(Rule):
    """Whatever is due and allowed is in flight at the same instant; judged only where nothing is left to do."""

    name = "nothing-idle"
    events: ClassVar[tuple[type[Event], ...]] = (Quiet,)

    def check(self, event: Quiet, ledger: Ledger) -> Iterable[str]:
        most = ledger.config.max_in_flight_requests
        if not ledger.steady or len(ledger.open_requests) >= most:
            return ()
        if any(ledger.is_overdue(each, event.time_s) for each in ledger.open_requests.values()):
            return ()  # one whose deadline is at this very instant, and nobody can tell whether it has been cut
        waiting = [each for each in ledger.at(*_WAITING) if each.certain]
        by_route: dict[Hashable, list[Tracked]] = {}
        for each in waiting:
            by_route.setdefault(each.route, []).append(each)
        return [message for route in by_route for message in self._route(event.time_s, ledger, by_route[route])]

    def _route(self, now_s: float, ledger: Ledger, waiting: list[Tracked]) -> Iterator[str]:
        scope_name = self.history.scope_of(waiting[0].route)
        scope, config = ledger.scope(scope_name, now_s), ledger.config
        many = len({self.history.scope_of(route) for route in ledger.routes}) > 1
        share = max(1, config.max_in_flight_requests - 1) if many else config.max_in_flight_requests
        if scope.in_flight >= share or self._is_held(now_s, ledger, scope_name):
            return
        reason = self._reason(now_s, ledger, waiting)
        if reason:
            yield (
                f"writer {ledger.number} has a free slot, and route {waiting[0].route!r} {reason}, but nothing was "
                f"sent; it waits: {shown(each.entry for each in waiting)}"
            )

    def _is_held(self, now_s: float, ledger: Ledger, scope_name: Hashable) -> bool:
        """Whether backoff or, as far as one can tell from outside, the rate limit may hold back the scope."""
        if ledger.limited and ledger.config.rate_limit.kind == "fixed":
            return True  # by time, of which nothing is seen from outside
        for each in ledger.all_ledgers.values():
            each.expire(now_s)
            scope = each.scopes.get(scope_name)
            if any(each.is_overdue(request, now_s) for request in each.open_requests.values()):
                return True
            if scope is not None and (
                now_s <= max(scope.failed_s + ledger.config.retry.max_backoff_s, scope.not_before_s) + EPSILON_S
                or (ledger.limited and scope.in_flight)
            ):
                return True
        return False

    def _reason(self, now_s: float, ledger: Ledger, waiting: list[Tracked]) -> str:
        config = ledger.config
        sealed = [each for each in waiting if each.place is Place.SEALED]
        halved = [each for each in waiting if each.place is Place.HALVED]
        free = [each for each in waiting if each.place is Place.BUFFERED]
        if config.ordering == "key":
            free = sendable(free, ledger)
        size = sum(each.size for each in free)
        before_s = now_s - config.max_time_in_buffer_s - EPSILON_S
        parked_s = before_s - max(config.retry.max_backoff_s, config.retry.retry_after_cap_s)
        flushes = [each for each in ledger.flushes.values() if each.end_of_input]
        flushed_s = max((each.time_s for each in flushes), default=-inf)
        # With keys the second half may have to wait for the first.
        if halved and not sealed and config.ordering == "none":
            return f"has the entries of {halved[0].request} to send in halves since {halved[0].since_s:.6g}"
        if sealed:
            return f"has {sealed[0].request} to repeat since {sealed[0].since_s:.6g}"
        if len(free) >= config.max_batch_size or size >= config.max_batch_size_in_bytes:
            return f"has {len(free)} entries with {size} bytes, a full batch"
        if any(each.since_s < before_s for each in free):
            return f"has entries older than max_time_in_buffer_s = {config.max_time_in_buffer_s}"
        if any(each.place is Place.OWN_BACKOFF and each.since_s < parked_s for each in waiting):
            return "has an entry whose own backoff must have ended"
        if any(each.order < ledger.flush_marks.get(call.number, 0) for call in flushes for each in free):
            return f"is being flushed since {flushed_s:.6g}"
        if free and not ledger.open_requests and ledger.count(Place.BUFFERED) >= config.max_buffered_requests:
            return "waits in a full buffer with nothing in flight"
        return ""


class FlushMeaning(Rule):
    """``flush(False)`` outlives the requests open at its call, within their deadline; ``flush(True)`` all entries."""

    name = "flush-meaning"
    events: ClassVar[tuple[type[Event], ...]] = (FlushCalled, FlushReturned)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._open: dict[int, tuple[FlushCalled, list[SentRequest], list[Tracked]]] = {}

    def check(self, event: FlushCalled | FlushReturned, ledger: Ledger) -> Iterator[str]:
        if isinstance(event, FlushCalled):
            self._open[event.number] = event, list(ledger.open_requests.values()), ledger.unacknowledged()
            return
        call, requests, entries = self._open.pop(event.number)
        if not event.done:
            return
        if call.end_of_input:
            left = [each for each in entries if each.place not in SETTLED]
            if left:
                yield f"flush(True) called at {call.time_s:.6g} returned without {shown(each.entry for each in left)}"
            return
        # One that is overdue at this very instant is being cut, and has ended for the writer.
        still = [
            each
            for each in requests
            if each.number in ledger.open_requests and not ledger.is_overdue(each, event.time_s)
        ]
        if still:
            yield f"flush(False) called at {call.time_s:.6g} returned while {still[0]} is under way since before"
        lasted_s = event.time_s - call.time_s
        # It waits for dead letters as well, and how long these take is the store's matter.
        keeps = ledger.config.on_rejected == "dead_letter"
        if lasted_s > ledger.config.request_timeout_s + EPSILON_S and not keeps:
            yield f"flush(False) took {lasted_s:.6g} s, longer than any request's deadline"


class NoEarlyCut(Rule):
    """While a writer works, it cuts a request at its deadline: not before and not after."""

    name = "no-early-cut"
    events: ClassVar[tuple[type[Event], ...]] = (RequestEnded, Quiet)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._cut: list[tuple[Ledger, SentRequest]] = []

    def check(self, event: RequestEnded | Quiet, ledger: Ledger) -> Iterator[str]:
        if not ledger.steady:
            return
        if isinstance(event, Quiet):
            for request in ledger.late.values():
                if not request.step.uncut_s:
                    yield f"{request} is under way beyond its deadline {ledger.deadline_s(request):.6g}"
        elif event.request.ending is Ending.CUT and not ledger.is_overdue(event.request, event.time_s):
            self._cut.append((ledger, event.request))

    def finish(self, ledgers: Sequence[Ledger]) -> Iterator[str]:
        for ledger, request in self._cut:
            # A writer that fails cuts what is under way, and says why only at its next call.
            if not ledger.failed:
                yield f"{request} was cut before its deadline {ledger.deadline_s(request):.6g}"
