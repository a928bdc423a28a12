"""The machine behind a writer: what is buffered, what is due, what may go, and when to look again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from heapq import heappush
from typing import TYPE_CHECKING, Any

import anyio

from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import DeliveryError, WriterClosedError
from asyncsink.limits.limiter import LimiterCache
from asyncsink.limits.strategy import RequestInfo, ResultInfo
from asyncsink.writer.buffer import Lane, Run
from asyncsink.writer.make import BlockMaker
from asyncsink.writer.request import InFlightRequest
from asyncsink.writer.scope import Scope
from asyncsink.writer.timekeeper import Timekeeper
from asyncsink.writer.workers import Workers

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink


_NONE_YET: Any = object()


class Verdict(Enum):
    """What became of a turn that a lane was given."""

    SENT = "sent"
    NOT_DUE = "not due"
    LANE_BLOCKED = "the strategy blocks its next request; one of another lane may be smaller"
    SCOPE_HELD = "no request of its scope may go"


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
        self.time = Timekeeper(self)
        self.alarm = self.time.alarm
        self.failure: DeliveryError | None = None
        self.is_open = self.is_closed = False
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
        self._most_entries, self._most_bytes = config.max_batch_size, config.max_batch_size_in_bytes
        self._most_requests = config.max_in_flight_requests
        self._scope_of, self._limiters, self._prefix, self.close_tail = sink.scope_of, limiters, prefix, close_tail
        self.ready: dict[Lane, None] = {}
        """Lanes to be looked at, in the order in which their turn comes; after a plan those that may not go yet."""
        self._first_scope: Any = _NONE_YET
        self._many_scopes = False
        """Whether a second scope has ever been seen."""
        self.starts = 0
        self._numbers = self._parkings = 0
        self._changed: anyio.Event | None = None
        self.plan_again = self.plan
        """:meth:`plan`, bound once: by it a limiter knows who waits."""

    # ---- entries come in -------------------------------------------------------------------------------------

    def add(self, block: EntryBlock[Any], size: int) -> None:
        """Take in newly accepted or restored entries; they come after all before them."""
        first, count = self.next_sequence, len(block)
        # Everything that asks the sink comes before the first change: what raises here has taken in nothing.
        parts = [(self.lane(route), part, explicit) for route, part, explicit in self.maker.split(block, first)]
        self.next_sequence += count
        self.waiting_count += count
        self.size_in_bytes += size
        for lane, part, explicit in parts:
            run = Run(part, 0, len(part), first, explicit)
            lane.append(run, size if part is block else run.size_in_bytes)
            self.ready[lane] = None
        self.time.arm()

    def give_back(self, lane: Lane, run: Run) -> None:
        """Take back entries that have been sent; they go before all that was accepted later."""
        lane = self.lane(lane.route)
        lane.give_back(run)
        self.waiting_count += len(run)
        self.ready[lane] = None
        self.time.arm()

    def seal(self, request: InFlightRequest[Any]) -> None:
        """Take back a request whose outcome is unknown; it will be sent as it is, before the buffer."""
        lane = request.lane
        at = next((i for i, each in enumerate(lane.sealed) if each.number > request.number), len(lane.sealed))
        lane.sealed.insert(at, request)
        self.ready[lane] = None

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
                scope.limiter.reset_time()
                self._many_scopes = self._many_scopes or self._first_scope not in (_NONE_YET, name)
                self._first_scope = name
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

    # ---- requests go out -------------------------------------------------------------------------------------

    def plan(self) -> None:
        """Send whatever is due and allowed: nothing waits for another write."""
        if not self.is_open:
            return
        self.close_tail()
        sent = self._send_ready()
        while not self.in_flight and self._is_full() and self._send_oldest():
            sent = self._send_ready() or True
        if sent:
            self.notify()

    def make_room(self) -> None:
        """Plan for a caller that waits for room, even if the buffer is not full by the count of what it holds."""
        self.plan()
        if self.is_open and not self.in_flight and self._send_oldest():
            self.plan()

    def _send_ready(self) -> bool:
        """Send what may go of the lanes that are ready, in turn; whether anything went."""
        ready, most = self.ready, self._most_requests
        first = self.starts
        held: set[Scope] = set()
        before = -1
        while before < self.starts and len(self.in_flight) < most:
            before = self.starts
            for lane in list(ready):
                if len(self.in_flight) >= most:
                    break
                if not held or lane.scope not in held:
                    self._take_turn(lane, held)
        return self.starts > first

    def _take_turn(self, lane: Lane, held: set[Scope]) -> None:
        verdict = self._send_next(lane)
        while verdict is Verdict.SENT and len(self.ready) == 1 and len(self.in_flight) < self._most_requests:
            verdict = self._send_next(lane)
        if verdict is Verdict.NOT_DUE:
            del self.ready[lane]
        elif verdict is Verdict.SCOPE_HELD:
            held.add(lane.scope)
        elif verdict is Verdict.SENT and len(self.ready) > 1:
            # Its next turn comes after all the others'; who has to wait keeps its place.
            del self.ready[lane]
            self.ready[lane] = None

    def _send_oldest(self) -> bool:
        """Nothing is in flight and there is no room: the route with the oldest entry is due; whether it went."""
        held: set[Scope] = set()
        waiting = [lane for lane in self.lanes.values() if lane.count and lane not in self.ready]
        for lane in sorted(waiting, key=lambda each: each.first_sequence):
            if lane.scope not in held:
                lane.due_before = lane.first_sequence + 1
                self.ready[lane] = None
                if self._send_next(lane) is Verdict.SENT:
                    return True
                held.add(lane.scope)
        return False

    def _send_next(self, lane: Lane) -> Verdict:
        """Send the next request of a lane, if there is one and it may go."""
        scope, limiter = lane.scope, lane.scope.limiter
        most = max(1, min(self._most_entries, limiter.strategy.max_batch_size))
        if lane.sealed:
            count, size = len(lane.sealed[0]), lane.sealed[0].size_in_bytes
        elif self._is_due(lane, most):
            count, size = lane.measure(most, self._most_bytes)
        else:
            return Verdict.NOT_DUE
        if self._many_scopes and scope.slots >= max(1, self.config.max_in_flight_requests - 1):
            return Verdict.SCOPE_HELD
        info = RequestInfo(count, size, self.clock())
        if not limiter.admits(info, sealed=bool(lane.sealed)):
            limiter.wait(self.plan_again)
            self.alarm.set(limiter.unblocked_s(info.now_s))
            # A sealed request cannot be cut to what is free: were others of its scope let past, it might never go.
            held = lane.sealed or limiter.not_before_s > info.now_s
            return Verdict.SCOPE_HELD if held else Verdict.LANE_BLOCKED
        if lane.sealed:
            request = lane.sealed.popleft().again()
        else:
            self._numbers += 1
            self.waiting_count -= count
            request = InFlightRequest(lane, lane.cut(count, size), count, size, self._prefix, self._numbers)
        self._start(request, info)
        return Verdict.SENT

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
        request.lane.slots += 1
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
        request.lane.slots -= 1
        scope = request.lane.scope
        scope.slots -= 1
        strategy = scope.limiter.strategy
        before = strategy.max_batch_size
        scope.limiter.end(
            ResultInfo(len(request), request.size_in_bytes, failed, throttled, request.start_s, now_s, retry_after_s)
        )
        if scope.lanes > 1 and strategy.max_batch_size < min(before, self._most_entries):
            # A smaller batch is due earlier, in every lane of the scope.
            self.look_at(lane for lane in self.lanes.values() if lane.scope is scope)

    def go_on(self, lane: Lane) -> None:
        """A request of this lane has ended: send what has become possible, here and in other writers."""
        if lane.count or lane.sealed:
            self.ready[lane] = None
        elif not lane.slots and lane.route is not None:
            self._drop(lane)
        self.plan()
        if lane.scope.limiter.has_waiting:
            lane.scope.limiter.wake(self.plan_again)
        self.notify()

    def _drop(self, lane: Lane) -> None:
        """Forget an empty lane, so that routes may come and go without end; its limiter stays with the cache."""
        if self.lanes.get(lane.route) is not lane:
            return  # a late answer: another lane of this route has been made since
        del self.lanes[lane.route]
        self.ready.pop(lane, None)
        lane.scope.lanes -= 1
        if not lane.scope.lanes:
            lane.scope.limiter.forget(self.plan_again)
            del self.scopes[lane.scope.name]

    def _is_full(self) -> bool:
        config = self.config
        return (
            self.waiting_count >= config.max_buffered_requests
            or self.size_in_bytes >= config.max_buffered_size_in_bytes
        )

    def make_due_before(self, sequence: int) -> None:
        """Entries with a smaller sequence number are due from now on, until ``flush_before`` is set back."""
        self.flush_before = max(self.flush_before, sequence)
        self.look_at(self.lanes.values())
        self.plan()

    def look_at(self, lanes: Iterable[Lane]) -> None:
        """Let these lanes have a turn in the next plan."""
        self.ready.update(dict.fromkeys(lane for lane in lanes if lane))

    # ---- the end ---------------------------------------------------------------------------------------------

    def open(self, workers: Workers, clock: Callable[[], float]) -> None:
        """Start to send.

        :raises WriterClosedError: the writer was closed while it connected
        """
        if self.is_closed:
            raise WriterClosedError("the writer was closed while it connected")
        self.workers, self.clock, self.is_open = workers, clock, True
        self.plan()

    def fail(self, error: DeliveryError, cause: BaseException | None = None) -> None:
        """The writer has failed: nothing is sent any more, and what was in flight stays in the snapshot."""
        if self.is_open:
            error.__cause__ = cause
            self.failure = error
            self.close()

    def close(self) -> None:
        """Cut every request short; its entries wait again, for a snapshot. Closing twice is once."""
        if self.is_closed:
            return
        self.close_tail()
        self.is_open, self.is_closed = False, True
        now_s = self.clock()
        for request in list(self.in_flight.values()):
            self.release(request, len(request), 0, None, now_s)
            self.put_back(request)
            self.cut(request)
        for scope in self.scopes.values():
            scope.limiter.forget(self.plan_again)
            scope.limiter.wake(self.plan_again)
        self.notify()

    def put_back(self, request: InFlightRequest[Any]) -> None:
        """All entries of a request wait again: as they are if it is sealed, at the head of their lane otherwise."""
        if request.sealed:
            self.seal(request)
        else:
            for piece in request.pieces:
                self.give_back(request.lane, piece.take(range(piece.start, piece.stop), piece.attempts))

    def cut(self, request: InFlightRequest[Any]) -> None:
        """Cancel the connector's call for a request that has ended for the writer."""
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
