"""Which request goes next: lanes take turns, and each sends what is due and allowed."""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any

from asyncsink.limits.strategy import RequestInfo, made
from asyncsink.writer.buffer import Lane
from asyncsink.writer.request import InFlightRequest
from asyncsink.writer.scope import Scope

if TYPE_CHECKING:
    from asyncsink.writer.engine import Engine
    from asyncsink.writer.workers import Workers


MAX_BLOCKED = 16
"""Lanes of a scope whose requests are blocked before a plan asks for no other of it: there may be 100 000."""


class Verdict(Enum):
    """What became of a turn that a lane was given."""

    SENT = "sent"
    NOT_DUE = "not due"
    LANE_BLOCKED = "the strategy blocks its next request; one of another lane may be smaller"
    SCOPE_HELD = "no request of its scope may go"


class Dispatcher:
    """Sends the requests of one engine. Raises what a strategy raises; nothing has been taken out of a lane then."""

    def __init__(self, engine: Engine, prefix: str) -> None:
        self._engine, self._prefix = engine, prefix
        self._lanes, self._alarm = engine.lanes, engine.alarm
        config = engine.config
        self._most_entries, self._most_bytes = config.max_batch_size, config.max_batch_size_in_bytes
        self._most_requests, self._timeout_s = config.max_in_flight_requests, config.request_timeout_s
        self._numbers = 0
        self.workers: Workers | None = None
        self.starts = 0
        self.in_flight: dict[int, InFlightRequest[Any]] = {}
        """By number of the start: all have the same time, so the first of them is the first to reach its deadline."""
        self.ready: dict[Lane, None] = {}
        """Lanes to be looked at, in the order in which their turn comes; after a plan those that may not go yet."""

    def send_ready(self) -> bool:
        """Send what may go of the lanes that are ready, in turn; whether anything went."""
        ready, most = self.ready, self._most_requests
        first = self.starts
        held: set[Scope] = set()
        blocked: dict[Scope, int] = {}
        if len(ready) == 1 and len(self.in_flight) < most:  # as in most writers, and at each of their requests
            (lane,) = ready
            self._take_turn(lane, held, blocked)
            return self.starts > first
        before = -1
        while before < self.starts and len(self.in_flight) < most:
            before = self.starts
            for lane in list(ready):
                if len(self.in_flight) >= most or (held and not self._lanes.many_scopes):
                    break
                if not held or lane.scope not in held:
                    self._take_turn(lane, held, blocked)
        return self.starts > first

    def _take_turn(self, lane: Lane, held: set[Scope], blocked: dict[Scope, int]) -> None:
        verdict = self._send_next(lane)
        while verdict is Verdict.SENT and len(self.ready) == 1 and len(self.in_flight) < self._most_requests:
            verdict = self._send_next(lane)
        if verdict is Verdict.NOT_DUE:
            del self.ready[lane]
        elif verdict is Verdict.SCOPE_HELD:
            held.add(lane.scope)
        elif verdict is Verdict.LANE_BLOCKED:
            blocked[lane.scope] = blocked.get(lane.scope, 0) + 1
            if blocked[lane.scope] == MAX_BLOCKED:
                held.add(lane.scope)
        elif verdict is Verdict.SENT and len(self.ready) > 1:
            # Its next turn comes after all the others'; who has to wait keeps its place.
            del self.ready[lane]
            self.ready[lane] = None

    def send_oldest(self) -> bool:
        """Nothing is in flight and there is no room: the route with the oldest entry is due; whether it went."""
        if self._engine.cuts is not None:
            return False
        held: set[Scope] = set()
        waiting = [lane for lane in self._lanes.values() if lane.count and lane not in self.ready]
        for lane in sorted(waiting, key=lambda each: each.first_sequence):
            if lane.scope not in held and lane.first_sequence < inf:
                lane.due_before = lane.first_sequence + 1
                self.ready[lane] = None
                if self._send_next(lane) is Verdict.SENT:
                    return True
                held.add(lane.scope)
        return False

    def _send_next(self, lane: Lane) -> Verdict:
        """Send the next request of a lane, if there is one and it may go."""
        engine, scope, limiter = self._engine, lane.scope, lane.scope.limiter
        most = limiter.batch_limit(self._most_entries)
        ready_made = self._next_sealed(lane) if lane.sealed else None
        if ready_made is not None:
            count, size = len(ready_made), ready_made.size_in_bytes
        elif lane.count >= most or self._is_due(lane):
            count, size = lane.measure(most, self._most_bytes)
            if not count:
                return Verdict.NOT_DUE
        else:
            return Verdict.NOT_DUE
        if self._lanes.many_scopes and scope.slots >= max(1, self._most_requests - 1):
            return Verdict.SCOPE_HELD
        info = made(RequestInfo, (count, size, engine.clock()))
        as_it_is = ready_made is not None or lane.is_deterministic
        if not limiter.admits(info, sealed=as_it_is):
            limiter.wait(engine.plan_again)
            self._alarm.set(limiter.unblocked_s(info.now_s))
            # A request that is sent as it is cannot be cut to what is free: were others of its scope let past, it might
            # never go.
            held = as_it_is or limiter.not_before_s > info.now_s
            return Verdict.SCOPE_HELD if held else Verdict.LANE_BLOCKED
        # The strategy is told before anything is taken out of the lane: where it raises, nothing has happened.
        scope_start = limiter.start(info)
        if ready_made is not None:
            lane.sealed.remove(ready_made)
            request = ready_made.again()
        else:
            self._numbers += 1
            engine.waiting_count -= count
            pieces, prefix = lane.cut(count, size), self._prefix
            if lane.is_deterministic:
                prefix = f"{prefix}{pieces[0].first_sequence}+{count}"
            request = InFlightRequest(lane, pieces, count, size, prefix, self._numbers)
        request.scope_start = scope_start
        self.starts = request.start = self.starts + 1
        request.start_s = info.now_s
        scope.slots += 1
        lane.slots += 1
        self.in_flight[request.start] = request
        if engine.metrics is not None:
            first = request.pieces[0].first_sequence
            engine.metrics.started(count, size, first, info.now_s)
        if info.now_s + self._timeout_s < self._alarm.target_s:
            self._alarm.set(info.now_s + self._timeout_s)
        assert self.workers is not None
        self.workers.start(request)
        return Verdict.SENT

    def _next_sealed(self, lane: Lane) -> InFlightRequest[Any] | None:
        """The first sealed request that need not wait for another; one that does keeps its keys back and no others."""
        before: dict[int, list[InFlightRequest[Any]]] = {}
        for each in lane.sealed:
            if each.after is None:
                return each
            if not before:
                for request in self.in_flight.values():
                    before.setdefault(request.number, []).append(request)
            # Halves of one request stand in their order, so that what has to come first has been met by now.
            parts = before.setdefault(each.number, [])
            if not any(part.is_part_of(each.after) for part in parts):
                return each
            parts.append(each)
        return None

    def _is_due(self, lane: Lane) -> bool:
        """Whether less than a batch by count is due: by its bytes, its age or a flush."""
        if not lane.count:
            return False
        if lane.size_in_bytes >= self._most_bytes:
            return True
        first = lane.first_sequence
        return first < self._engine.flush_before or first < lane.due_before
