"""The machine behind a writer: what is buffered, what is due, what may go, and when to look again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import DeliveryError, FatalRequestError
from asyncsink.limits.limiter import LimiterCache
from asyncsink.limits.strategy import RequestInfo, ResultInfo
from asyncsink.writer.buffer import Lane, Run
from asyncsink.writer.make import BlockMaker
from asyncsink.writer.request import InFlightRequest
from asyncsink.writer.scope import Scope
from asyncsink.writer.workers import Alarm, Workers

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink


class Engine:
    """Buffers, cuts, sends. Every method runs on the writer's loop, and only :meth:`change` waits.

    Each entry is in exactly one place until it is acknowledged: the writer's open tail, a lane, a sealed request,
    parked for its own backoff, or in flight.
    """

    def __init__(
        self,
        sink: AsyncSink[Any, Any, Any],
        config: AsyncSinkWriterConfig,
        limiters: LimiterCache,
        prefix: str,
        close_tail: Callable[[], None],
    ) -> None:
        self.config = config
        self.maker = BlockMaker(sink)
        self.clock: Callable[[], float] = anyio.current_time
        self.workers: Workers | None = None
        self.alarm = Alarm(self._next_time_s, self._ring)
        self.failure: DeliveryError | None = None
        self.is_open = False
        self.lanes: dict[Hashable | None, Lane] = {}
        self.scopes: dict[Hashable | None, Scope] = {}
        self.in_flight: dict[int, InFlightRequest[Any]] = {}
        """By number of the start: all have the same time, so the first of them is the first to reach its deadline."""
        self.parked: list[tuple[float, int, Hashable | None, Run]] = []
        """A heap of entries in a backoff of their own: when it ends, a tie-break, their route."""
        self.waiting_count = 0
        """Entries that wait to be sent, but for sealed ones: what the bound of the buffer is about."""
        self.size_in_bytes = 0
        """Bytes of all that is not acknowledged."""
        self.next_sequence = 0
        self.flush_before = 0
        """Entries with a smaller sequence number are due, as a flush waits for them."""
        self.on_timeout: Callable[[InFlightRequest[Any], BaseException], None] = _not_wired
        self.on_time_up: Callable[[Scope, float], None] = _not_wired
        self._most_entries, self._most_bytes = config.max_batch_size, config.max_batch_size_in_bytes
        self._scope_of, self._limiters, self._prefix, self._close_tail = sink.scope_of, limiters, prefix, close_tail
        self._ready: dict[Lane, None] = {}
        """Lanes to be looked at, in the order in which their turn comes; after a plan those that may not go yet."""
        self._age_deadline_s = inf
        self._many_scopes = False
        self.starts = 0
        self._numbers = self._parkings = 0
        self._changed: anyio.Event | None = None
        self._plan = self.plan

    # ---- entries come in -------------------------------------------------------------------------------------

    def add(self, block: EntryBlock[Any], size: int) -> None:
        """Take in newly accepted or restored entries; they come after all before them."""
        first, count = self.next_sequence, len(block)
        self.next_sequence += count
        self.waiting_count += count
        self.size_in_bytes += size
        for route, part, explicit in self.maker.split(block, first):
            lane = self.lane(route)
            run = Run(part, 0, len(part), first, explicit)
            lane.append(run, size if part is block else run.size_in_bytes)
            self._ready[lane] = None
        self.arm()

    def give_back(self, lane: Lane, run: Run) -> None:
        """Take back entries that have been sent; they go before all that was accepted later."""
        lane = self.lane(lane.route)
        lane.give_back(run)
        self.waiting_count += len(run)
        self._ready[lane] = None
        self.arm()

    def seal(self, request: InFlightRequest[Any]) -> None:
        """Take back a request whose outcome is unknown; it will be sent as it is, before the buffer."""
        lane = request.lane
        self.lanes.setdefault(lane.route, lane)
        at = next((i for i, each in enumerate(lane.sealed) if each.number > request.number), len(lane.sealed))
        lane.sealed.insert(at, request)
        self._ready[lane] = None

    def park(self, lane: Lane, run: Run, wait_s: float) -> None:
        """Let entries wait a backoff of their own: buffered meanwhile, but not due."""
        self._parkings += 1
        self.waiting_count += len(run)
        heappush(self.parked, (self.clock() + wait_s, self._parkings, lane.route, run))
        self.alarm.set(self.parked[0][0])

    def lane(self, route: Hashable | None) -> Lane:
        """The lane of a route, made when it is first asked for."""
        lane = self.lanes.get(route)
        if lane is None:
            name = self._scope_of(route)
            scope = self.scopes.get(name)
            if scope is None:
                scope = self.scopes[name] = Scope(name, self._limiters.limiter(name, self.config))
                self._many_scopes = self._many_scopes or len(self.scopes) > 1
            scope.lanes += 1
            lane = self.lanes[route] = Lane(route, scope)
        return lane

    def room_in_lane(self) -> tuple[int, int]:
        """Entries and bytes that the only lane of a sink without routes still lacks to be due; a batch if it is."""
        lane = self.lane(None)
        most = max(1, min(self._most_entries, lane.scope.limiter.strategy.max_batch_size))
        size = self._most_bytes
        return (
            most - lane.count if lane.count < most else most,
            size - lane.size_in_bytes if lane.size_in_bytes < size else size,
        )

    def arm(self) -> None:
        """Start the age timer for an entry that has come in, unless it is running."""
        if self._age_deadline_s == inf:
            self._age_deadline_s = self.clock() + self.config.max_time_in_buffer_s
            self.alarm.set(self._age_deadline_s)

    # ---- requests go out -------------------------------------------------------------------------------------

    def plan(self) -> None:
        """Send whatever is due and allowed: nothing waits for another write."""
        if not self.is_open:
            return
        self._close_tail()
        blocked: list[Lane] = []
        ready, most = self._ready, self.config.max_in_flight_requests
        while ready and len(self.in_flight) < most:
            lane = next(iter(ready))
            sent = self._send_next(lane)
            if sent and len(ready) == 1:
                continue
            del ready[lane]
            if sent:
                ready[lane] = None
            elif sent is None:
                blocked.append(lane)
        for lane in blocked:
            ready[lane] = None
        if not self.in_flight and self._is_full():
            self.make_oldest_due()

    def _send_next(self, lane: Lane) -> bool | None:
        """Send the next request of a lane: True if one went, False if none is due, None if it may not go now."""
        scope, limiter = lane.scope, lane.scope.limiter
        most = max(1, min(self._most_entries, limiter.strategy.max_batch_size))
        if lane.sealed:
            count, size = len(lane.sealed[0]), lane.sealed[0].size_in_bytes
        elif self._is_due(lane, most):
            count, size = lane.measure(most, self._most_bytes)
        else:
            return False
        if self._many_scopes and scope.slots >= max(1, self.config.max_in_flight_requests - 1):
            return None
        info = RequestInfo(count, size, self.clock())
        if not limiter.admits(info, sealed=bool(lane.sealed)):
            limiter.wait(self._plan)
            self.alarm.set(limiter.unblocked_s(info.now_s))
            return None
        if lane.sealed:
            request = lane.sealed.popleft().again()
        else:
            self._numbers += 1
            self.waiting_count -= count
            request = InFlightRequest(lane, lane.cut(count, size), count, size, self._prefix, self._numbers)
        self._start(request, info)
        return True

    def _is_due(self, lane: Lane, most: int) -> bool:
        count = lane.count
        if not count:
            return False
        if count >= most or lane.size_in_bytes >= self._most_bytes:
            return True
        first = lane.first_sequence
        return first < self.flush_before or first < lane.due_before

    def _start(self, request: InFlightRequest[Any], info: RequestInfo) -> None:
        assert self.workers is not None
        self.starts += 1
        request.start, request.start_s = self.starts, info.now_s
        scope = request.lane.scope
        scope.slots += 1
        request.scope_start = scope.limiter.start(info)
        self.in_flight[request.start] = request
        self.alarm.set(info.now_s + self.config.request_timeout_s)
        self.workers.start(request)

    def release(
        self, request: InFlightRequest[Any], failed: int, throttled: int, retry_after_s: float | None, now_s: float
    ) -> None:
        """Give back what a request holds, whatever its ending: each is registered once and completed once."""
        request.over = True
        del self.in_flight[request.start]
        scope = request.lane.scope
        scope.slots -= 1
        scope.limiter.end(
            ResultInfo(len(request), request.size_in_bytes, failed, throttled, request.start_s, now_s, retry_after_s)
        )

    def go_on(self, lane: Lane) -> None:
        """A request of this lane has ended: send what has become possible, here and in other writers."""
        if lane.count or lane.sealed:
            self._ready[lane] = None
        elif lane.route is not None and not lane.scope.slots:
            self._drop(lane)
        self.plan()
        if lane.scope.limiter.has_waiting:
            lane.scope.limiter.wake(self._plan)
        self.notify()

    def _drop(self, lane: Lane) -> None:
        """Forget an empty lane, so that routes may come and go without end; its limiter stays with the cache."""
        if self.lanes.pop(lane.route, None) is lane:
            self._ready.pop(lane, None)
            lane.scope.lanes -= 1
            if not lane.scope.lanes:
                lane.scope.limiter.forget(self._plan)
                del self.scopes[lane.scope.name]

    def _is_full(self) -> bool:
        config = self.config
        return (
            self.waiting_count >= config.max_buffered_requests
            or self.size_in_bytes >= config.max_buffered_size_in_bytes
        )

    def make_oldest_due(self) -> None:
        """There is no room, nothing is in flight and nothing may go: let the lane with the oldest entry go."""
        if self.in_flight:
            return
        waiting = [lane for lane in self.lanes.values() if lane.count and lane not in self._ready]
        if waiting:
            lane = min(waiting, key=lambda each: each.first_sequence)
            lane.due_before = lane.first_sequence + 1
            self._ready[lane] = None
            self.plan()

    def make_due_before(self, sequence: int) -> None:
        """Entries with a smaller sequence number are due from now on, until ``flush_before`` is set back."""
        self.flush_before = max(self.flush_before, sequence)
        self._look_at_all()
        self.plan()

    def _look_at_all(self) -> None:
        self._ready.update(dict.fromkeys(lane for lane in self.lanes.values() if lane))

    # ---- time passes -----------------------------------------------------------------------------------------

    def _next_time_s(self) -> float:
        if not self.is_open:
            return inf
        times = [self._age_deadline_s]
        if self.in_flight:
            times.append(next(iter(self.in_flight.values())).start_s + self.config.request_timeout_s)
        if self.parked:
            times.append(self.parked[0][0])
        now_s = self.clock()
        times.extend(scope.limiter.unblocked_s(now_s) for scope in {lane.scope: None for lane in self._ready})
        return min(times)

    def _ring(self) -> None:
        if not self.is_open:
            return
        try:
            now_s = self.clock()
            self._expire(now_s)
            self._unpark(now_s)
            self._sweep(now_s)
            self._give_up(now_s)
            self.plan()
            self.notify()
        except Exception as error:  # a strategy's: the writer must neither hang nor lose its alarm over it
            self.fail(FatalRequestError(f"{type(error).__name__} while planning requests: {error}"), error)

    def _expire(self, now_s: float) -> None:
        """Cut the requests whose time is up; their outcome is unknown, and a late answer may still tell it."""
        timeout_s = self.config.request_timeout_s
        while self.in_flight:
            request = next(iter(self.in_flight.values()))
            if request.start_s + timeout_s > now_s:
                break
            self.on_timeout(request, TimeoutError(f"no answer within request_timeout_s = {timeout_s:g}"))
            self._cut(request)
            request.lane.scope.limiter.wake(self._plan)

    def _unpark(self, now_s: float) -> None:
        while self.parked and self.parked[0][0] <= now_s:
            _, _, route, run = heappop(self.parked)
            self.waiting_count -= len(run)
            self.give_back(self.lane(route), run)

    def _sweep(self, now_s: float) -> None:
        """If the age timer has expired, everything written before goes."""
        if self._age_deadline_s <= now_s:
            self._age_deadline_s = inf
            self._close_tail()
            # Closing the tail has armed the timer again, though all of it goes now.
            self._age_deadline_s = inf
            for lane in self.lanes.values():
                if lane.count:
                    lane.due_before = self.next_sequence
            self._look_at_all()

    def _give_up(self, now_s: float) -> None:
        """If a destination's time is up while it is waited for, say so."""
        for scope in {lane.scope: None for lane in self._ready}:
            if scope.limiter.give_up_s <= now_s and not scope.limiter.in_flight:
                self.on_time_up(scope, now_s)

    # ---- the end ---------------------------------------------------------------------------------------------

    def open(self, workers: Workers, clock: Callable[[], float]) -> None:
        """Start to send."""
        self.workers, self.clock, self.is_open = workers, clock, True
        for scope in self.scopes.values():
            scope.limiter.reset_time()
        self.plan()

    def fail(self, error: DeliveryError, cause: BaseException | None = None) -> None:
        """The writer has failed: nothing is sent any more, and what was in flight stays in the snapshot."""
        if self.is_open:
            error.__cause__ = cause
            self.failure = error
            self.close()

    def close(self) -> None:
        """Cut every request short; its entries wait again, for a snapshot."""
        self._close_tail()
        self.is_open = False
        now_s = self.clock()
        for request in list(self.in_flight.values()):
            self.release(request, len(request), 0, None, now_s)
            self.put_back(request)
            self._cut(request)
        for scope in self.scopes.values():
            scope.limiter.forget(self._plan)
            scope.limiter.wake(self._plan)
        self.notify()

    def put_back(self, request: InFlightRequest[Any]) -> None:
        """All entries of a request wait again: as they are if it is sealed, at the head of their lane otherwise."""
        if request.sealed:
            self.seal(request)
        else:
            for piece in request.pieces:
                self.give_back(request.lane, piece.take(range(piece.start, piece.stop), piece.attempts))

    def _cut(self, request: InFlightRequest[Any]) -> None:
        if request.worker is not None and request.worker.request is request:
            request.worker.scope.cancel()

    # ---- who waits -------------------------------------------------------------------------------------------

    async def change(self) -> None:
        """Wait until something has changed that a caller may be waiting for."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def notify(self) -> None:
        """Wake those who wait for a change."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None


def _not_wired(*_: Any) -> None:
    raise RuntimeError("an engine without settlement cannot tell what an ending means")
