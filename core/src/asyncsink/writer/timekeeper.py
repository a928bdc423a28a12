"""What happens in a writer because time has passed: one alarm for all of it."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from asyncsink.writer.request import InFlightRequest

if TYPE_CHECKING:
    from asyncsink.writer.buffer import Lane
    from asyncsink.writer.engine import Engine
    from asyncsink.writer.scope import Scope


class Alarm:
    """One task that wakes when the earliest of the writer's times has come.

    :param next_s: the earliest time that matters, on the loop's clock; infinite if none does
    :param ring: called when it has come; must neither wait nor raise
    """

    __slots__ = ("_next_s", "_ring", "_scope", "target_s")

    def __init__(self, next_s: Callable[[], float], ring: Callable[[], None]) -> None:
        self._next_s, self._ring = next_s, ring
        self._scope: anyio.CancelScope | None = None
        self.target_s = inf

    def set(self, time_s: float) -> None:
        """Wake at `time_s` at the latest."""
        if time_s < self.target_s:
            self.target_s = time_s
            if self._scope is not None:
                self._scope.deadline = time_s

    async def run(self) -> None:
        """Ring for ever; ended by cancelling its task."""
        while True:
            # What was asked for while it rang stays asked for: by a clock that does not stand still it may have come
            # since, and then it is no longer among the times that are still to come.
            self.target_s = min(self.target_s, self._next_s())
            with anyio.CancelScope(deadline=self.target_s) as self._scope:
                await anyio.sleep_forever()
            self._scope, self.target_s = None, inf
            self._ring()


class Timekeeper:
    """Deadlines of requests, the age timer, backoffs of entries and scopes, and the patience with a destination.

    There is no queue of deadlines: all requests have the same time, so the first that is in flight is the next due.

    :ivar on_timeout: what a request's deadline means
    :ivar on_time_up: what it means that a destination's time is up, and for how many seconds it has been
    :ivar on_stall: what it means that nothing was acknowledged for so many seconds
    :ivar progress_s: when an entry was last acknowledged or given up, or the first of all that are held came in; later
        by all the time since in which nothing was to be done
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._age_deadline_s = inf
        self._swept_before = 0
        self.alarm = Alarm(self._next_time_s, self._ring)
        self.on_timeout: Callable[[InFlightRequest[Any], BaseException], None]
        self.on_time_up: Callable[[Scope, float], None]
        self.on_stall: Callable[[float], None]
        stall_s = engine.config.stall_timeout_s
        self._stall_s = inf if stall_s is None else stall_s
        self.progress_s = -inf
        self._resting_since_s: float | None = None

    def begin(self) -> None:
        """The writer held nothing, and now it does."""
        self.progress_s = self._engine.clock()
        if self._resting_since_s is not None:
            self._resting_since_s = self.progress_s

    @property
    def is_resting(self) -> bool:
        """Whether nothing was to be done after the last plan: all that is held only waits for the age timer."""
        return self._resting_since_s is not None

    def rest_or_work(self) -> None:
        """After each plan: see whether there is something to be done. Time without counts for no stall."""
        engine = self._engine
        works = engine.in_flight or engine.ready or engine.parked or engine.condemned or engine.unkept
        if not works:
            if self._resting_since_s is None:
                self._resting_since_s = engine.clock()
        elif self._resting_since_s is not None:
            self.progress_s += engine.clock() - self._resting_since_s
            self._resting_since_s = None
            self.alarm.set(self.progress_s + self._stall_s)

    def arm(self) -> None:
        """Start the age timer for an entry that has come in, unless it is running."""
        if self._age_deadline_s == inf:
            self._age_deadline_s = self._engine.clock() + self._engine.config.max_time_in_buffer_s
            self.alarm.set(self._age_deadline_s)

    def _next_time_s(self) -> float:
        engine = self._engine
        if not engine.is_open:
            return inf
        times = [self._age_deadline_s]
        if engine.in_flight:
            times.append(next(iter(engine.in_flight.values())).start_s + engine.config.request_timeout_s)
        if engine.parked:
            times.append(engine.parked[0][0])
        if not self.is_resting:
            times.append(self.progress_s + self._stall_s)
        now_s = engine.clock()
        times.extend(scope.limiter.unblocked_s(now_s) for scope in {lane.scope: None for lane in engine.ready})
        times.extend(self._sealed_until_s(lane) for lane in engine.ready if lane.sealed)
        return min(times)

    def _sealed_until_s(self, lane: Lane) -> float:
        """When the time of the first of its sealed requests is up; a later one may have begun to fail before."""
        since_s = (each.failing_since_s for each in lane.sealed if each.failing_since_s is not None)
        return min(since_s, default=inf) + self._engine.config.retry.timeout_s

    def _ring(self) -> None:
        engine = self._engine
        if not engine.is_open:
            return
        try:
            now_s = engine.clock()
            self._expire(now_s)
            self._unpark(now_s)
            self._sweep(now_s)
            self._give_up(now_s)
            engine.plan()
            self._watch(now_s)
            engine.notify()
        except Exception as error:  # the writer must neither hang nor lose its alarm over it
            engine.fail_while("planning requests", error)

    def _expire(self, now_s: float) -> None:
        """Cut the requests whose time is up; their outcome is unknown, and a late answer may still tell it."""
        engine, timeout_s = self._engine, self._engine.config.request_timeout_s
        while engine.in_flight:
            request = next(iter(engine.in_flight.values()))
            if request.start_s + timeout_s > now_s:
                break
            self.on_timeout(request, TimeoutError(f"no answer within request_timeout_s = {timeout_s:g}"))
            engine.cut(request)
            request.lane.scope.limiter.wake(engine.plan_again)

    def _unpark(self, now_s: float) -> None:
        engine = self._engine
        while engine.parked and engine.parked[0][0] <= now_s:
            _, _, route, run = heappop(engine.parked)
            engine.waiting_count -= len(run)
            lane = engine.lane(route)
            lane.free((run,))
            engine.give_back(lane, run)
            if run.first_sequence < self._swept_before:  # the age timer has waited for its backoff only
                lane.due_before = max(lane.due_before, run.last_sequence + 1)

    def _sweep(self, now_s: float) -> None:
        """If the age timer has expired, everything written before goes."""
        if self._age_deadline_s > now_s:
            return
        engine = self._engine
        engine.close_tail()
        # Set only now: closing the tail would have armed the timer again, though all of it goes.
        self._age_deadline_s = inf
        self._swept_before = engine.next_sequence
        for lane in engine.lanes.values():
            if lane.count:
                lane.due_before = engine.next_sequence
        engine.look_at(engine.lanes.values())

    def _give_up(self, now_s: float) -> None:
        """If a destination's time is up while it is waited for, say so."""
        for lane in list(self._engine.ready):
            limiter = lane.scope.limiter
            until_s = inf if limiter.in_flight else limiter.give_up_s
            if lane.sealed:
                until_s = min(until_s, self._sealed_until_s(lane))
            if until_s <= now_s and self._engine.is_open:
                self.on_time_up(lane.scope, now_s - until_s)

    def _watch(self, now_s: float) -> None:
        """If nothing was acknowledged for long, though there was something to be done, say so."""
        if self._engine.is_open and not self.is_resting and self.progress_s + self._stall_s <= now_s:
            self.on_stall(now_s - self.progress_s)
