"""The machine behind a writer: what is buffered, what is due, what may go, and when to look again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from heapq import heappush
from typing import TYPE_CHECKING, Any

import anyio

from asyncsink.accounting import Accounting
from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import DeliveryError, FatalRequestError, WriterClosedError
from asyncsink.limits.limiter import Limiter, LimiterCache
from asyncsink.limits.strategy import ResultInfo, made
from asyncsink.writer.buffer import Lane, Run
from asyncsink.writer.deterministic import Cuts, DeterministicLane
from asyncsink.writer.dispatch import Dispatcher
from asyncsink.writer.lanes import Lanes
from asyncsink.writer.make import BlockMaker
from asyncsink.writer.request import InFlightRequest
from asyncsink.writer.tail import OpenTail
from asyncsink.writer.timekeeper import Timekeeper
from asyncsink.writer.workers import Workers

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink
    from asyncsink.metrics import WriterMetrics


class Engine:
    """Buffers, cuts, sends. Every method runs on the writer's loop, and only :meth:`change` waits.

    Each entry is in exactly one place until it is acknowledged or given up: the writer's open tail, a lane, a sealed
    request, parked for its own backoff, in flight, or condemned to be a dead letter.
    """

    def __init__(
        self,
        sink: AsyncSink[Any, Any, Any],
        config: AsyncSinkWriterConfig,
        limiters: LimiterCache,
        prefix: str,
        accounting: Accounting,
    ) -> None:
        self.config, self.accounting = config, accounting
        self.keyed = config.ordering == "key"
        self.maker = BlockMaker(sink, self.keyed)
        self.clock: Callable[[], float] = anyio.current_time
        self.time = Timekeeper(self)
        self.alarm = self.time.alarm
        self.metrics: WriterMetrics | None = None
        self.failure: DeliveryError | None = None
        self.is_open = self.is_closed = False
        self.max_record_size_in_bytes = config.max_record_size_in_bytes
        """Bytes an entry; once the writer has connected, what the sink says of it."""
        self.cuts = Cuts(config, self.maker.routed) if config.batching == "deterministic" else None
        """Where batches end if the entries alone decide."""
        self.lanes = Lanes(
            sink.scope_of,
            lambda scope: limiters.limiter(scope, config),
            self.maker.keys_of if self.keyed else None,
            sink.atomic_requests,
            self.cuts,
        )
        self.parked: list[tuple[float, int, Hashable | None, Run]] = []
        """A heap of entries in a backoff of their own: when it ends, a tie-break, their route."""
        self.condemned: deque[Run] = deque()
        """Entries that are given up, one a run, until their dead letters are durable."""
        self.unkept = 0
        """Elements that cannot be sent, and are accepted when their dead letters are durable."""
        self.waiting_scopes: set[anyio.CancelScope] = set()
        """Scopes of calls that wait for others than the engine; cancelled when nothing is sent any more."""
        self.waiting_count = 0
        """Entries that wait to be sent, but for sealed ones: what the bound of the buffer is about."""
        self.size_in_bytes = 0
        """Bytes of all that is neither acknowledged nor given up for good."""
        self.next_sequence = 0
        self.flush_before = 0
        """Entries with a smaller sequence number are due, as a flush waits for them."""
        self._most_entries, self._most_bytes = config.max_batch_size, config.max_batch_size_in_bytes
        self.tail = OpenTail(self)
        self._dispatch = Dispatcher(self, prefix)
        self.in_flight, self.ready = self._dispatch.in_flight, self._dispatch.ready
        self._parkings = 0
        self._changed: anyio.Event | None = None
        self.plan_again = self.plan
        """:meth:`plan`, bound once: by it a limiter knows who waits."""

    # ---- entries come in -------------------------------------------------------------------------------------

    def add(self, block: EntryBlock[Any], size: int) -> None:
        """Take in newly accepted or restored entries; they come after all before them."""
        first, count = self.next_sequence, len(block)
        # Everything that asks the sink comes before the first change: what raises here has taken in nothing.
        try:
            parts = [
                (self.lane(route), Run(part, 0, len(part), first, explicit, keys=self.maker.missing_keys(part)))
                for route, part, explicit in self.maker.split(block, first)
            ]
        except Exception:
            for lane in [each for each in self.lanes.values() if each.is_idle]:
                self._drop(lane)
            raise
        if not self.accounting.unacknowledged:
            self.time.begin()
        self.next_sequence += count
        self.waiting_count += count
        self.size_in_bytes += size
        for lane, run in parts:
            lane.append(run, size if run.block is block else run.size_in_bytes)
            self.ready[lane] = None
        if self.metrics is not None:
            self.metrics.accepted(first, self.clock())
        if self.cuts is None:
            self.time.arm()
        elif self.cuts.accept(count, size):
            self.end_batches()

    def close_tail(self) -> None:
        """Take in what elements written one by one have gathered."""
        self.accounting.accepted += self.tail.close()

    def give_back(self, lane: Lane, run: Run) -> None:
        """Take back entries that have been sent; they go before all that was accepted later."""
        lane = self.lane(lane.route)
        lane.give_back(run)
        self.waiting_count += len(run)
        self.ready[lane] = None
        if self.cuts is None:
            self.time.arm()

    def seal(self, request: InFlightRequest[Any]) -> None:
        """Take back a request whose outcome is unknown; it will be sent as it is, before the buffer."""
        lane = request.lane
        place = request.number, request.path
        at = next((i for i, each in enumerate(lane.sealed) if (each.number, each.path) > place), len(lane.sealed))
        lane.sealed.insert(at, request)
        self.ready[lane] = None

    def park(self, lane: Lane, run: Run, wait_s: float) -> None:
        """Let entries wait a backoff of their own: buffered meanwhile, but not due; their keys wait with them."""
        lane.hold((run,))
        self._parkings += 1
        self.waiting_count += len(run)
        heappush(self.parked, (self.clock() + wait_s, self._parkings, lane.route, run))
        self.alarm.set(self.parked[0][0])

    def lane(self, route: Hashable | None) -> Lane:
        """The lane of a route, made when it is first asked for."""
        lane = self.lanes.get(route)
        if lane is None:
            lane = self.lanes.of(route)
            lane.scope.limiter.join(self.plan_again, self._shrunk)
        return lane

    def _shrunk(self, limiter: Limiter) -> None:
        """A smaller batch is due earlier, whoever's answer has made it smaller: plan when the others are woken."""
        if limiter.batch_limit(self._most_entries) < self._most_entries:
            self.look_at(lane for lane in self.lanes.values() if lane.scope.limiter is limiter)
            limiter.wait(self.plan_again)

    def room_in_lane(self) -> tuple[int, int]:
        """Entries and bytes that the only lane of a sink without routes still lacks to be due; a batch if it is."""
        lane = self.lane(None)
        try:
            most = lane.scope.limiter.batch_limit(self._most_entries)
        except FatalRequestError as error:
            self.fail(error)
            return 1, 1
        size = self._most_bytes
        return (
            most - lane.count if lane.count < most else most,
            size - lane.size_in_bytes if lane.size_in_bytes < size else size,
        )

    # ---- requests go out -------------------------------------------------------------------------------------

    def plan(self) -> None:
        """Send whatever is due and allowed: nothing waits for another write.

        A strategy that raises makes the writer fail: whoever has called here has done its own part.
        """
        if not self.is_open:
            return
        if self.tail.room or self.tail.entries:
            self.close_tail()
        try:
            sent = self._dispatch.send_ready()
            while not self.in_flight and self._is_full() and self._dispatch.send_oldest():
                sent = self._dispatch.send_ready() or True
        except Exception as error:
            self.fail_while("planning requests", error)
            return
        if self.time.is_resting or not self.in_flight:
            self.time.rest_or_work()
        if sent and self._changed is not None:
            self.notify()

    def make_room(self, size: int) -> None:
        """Plan for a caller that waits for room for an entry of `size` bytes, which may be larger than what is free
        although the buffer is not full by the count of what it holds.
        """
        if self.cuts is not None and not self.cuts.leave_room(size):
            self.end_batches()
        self.plan()
        try:
            sent = self.is_open and not self.in_flight and self._dispatch.send_oldest()
        except Exception as error:
            self.fail_while("planning requests", error)
            return
        if sent:
            self.plan()

    def fail_while(self, doing: str, error: Exception) -> None:
        """Fail with what a strategy, a connector or a fault of ours has raised: nobody may hang on it."""
        if isinstance(error, DeliveryError):
            self.fail(error)
        else:
            self.fail(FatalRequestError(f"{type(error).__name__} while {doing}: {error}"), error)

    def release(
        self,
        request: InFlightRequest[Any],
        failed: int,
        throttled: int,
        retry_after_s: float | None,
        now_s: float,
        ignored: bool = False,
    ) -> None:
        """Give back what a request holds, whatever its ending: each is registered once and completed once."""
        request.over = True
        del self.in_flight[request.start]
        request.lane.slots -= 1
        scope = request.lane.scope
        scope.slots -= 1
        count, size = request.length, request.size
        if self.metrics is not None:
            self.metrics.ended(now_s - request.start_s)
        scope.limiter.end(
            made(ResultInfo, (count, size, failed, throttled, request.start_s, now_s, retry_after_s, ignored))
        )

    def go_on(self, lane: Lane) -> None:
        """A request of this lane has ended: send what has become possible, in other writers and here."""
        if lane.count or lane.sealed:
            self.ready[lane] = None
        elif lane.route is not None and lane.is_idle:
            self._drop(lane)
        # Who has waited goes first: this writer would take what it has just given back, for as long as it has work.
        if lane.scope.limiter.waiting:
            lane.scope.limiter.wake(self.plan_again)
        self.plan()
        if self._changed is not None:
            self.notify()

    def _drop(self, lane: Lane) -> None:
        scope = self.lanes.drop(lane)
        self.ready.pop(lane, None)
        if scope is not None:
            scope.limiter.leave(self.plan_again)

    def _is_full(self) -> bool:
        config = self.config
        return (
            self.waiting_count >= config.max_buffered_requests
            or self.size_in_bytes >= config.max_buffered_size_in_bytes
        )

    @property
    def starts(self) -> int:
        """Requests sent so far, resends included."""
        return self._dispatch.starts

    def make_due_before(self, sequence: int) -> None:
        """Entries with a smaller sequence number are due from now on, until ``flush_before`` is set back."""
        self.flush_before = max(self.flush_before, sequence)
        self.end_batches()
        self.look_at(self.lanes.values())
        self.plan()

    def end_batches(self) -> None:
        """What has been accepted so far is in whole batches, if that decides over what is due."""
        if self.cuts is not None:
            self.cuts.begin()
            for lane in self.lanes.values():
                assert isinstance(lane, DeterministicLane)
                lane.end_batch()
            self.look_at(self.lanes.values())

    def look_at(self, lanes: Iterable[Lane]) -> None:
        """Let these lanes have a turn in the next plan."""
        self.ready.update(dict.fromkeys(lane for lane in lanes if lane))

    # ---- the end ---------------------------------------------------------------------------------------------

    def open(self, workers: Workers, clock: Callable[[], float]) -> None:
        """Start to send.

        :raises WriterClosedError: the writer was closed while it connected
        """
        self.check_not_closed()
        self._dispatch.workers, self.clock, self.is_open = workers, clock, True
        self.plan()

    def check_not_closed(self) -> None:
        """To be called between the steps of opening.

        :raises WriterClosedError: the writer was closed while it connected
        """
        if self.is_closed:
            raise WriterClosedError("the writer was closed while it connected")

    def fail(self, error: DeliveryError, cause: BaseException | None = None) -> None:
        """The writer has failed: nothing is sent any more, and what was in flight stays in the snapshot."""
        if self.is_open:
            error.__cause__ = cause or error.__cause__
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
            # Ignored: that a writer ends says nothing of the load, and others may share the limit.
            self.release(request, len(request), 0, None, now_s, ignored=True)
            self.put_back(request)
            self.cut(request)
        for scope in self.lanes.scopes.values():
            scope.limiter.leave(self.plan_again)
            scope.limiter.wake(self.plan_again)
        for waiting in self.waiting_scopes:
            waiting.cancel()
        self.notify()

    def put_back(self, request: InFlightRequest[Any]) -> None:
        """All entries of a request wait again: as they are if it is sealed, at the head of their lane otherwise."""
        if request.sealed:
            self.seal(request)
            return
        request.lane.free(request.pieces)
        for piece in request.pieces:
            self.give_back(request.lane, piece.take(range(piece.start, piece.stop), piece.attempts, piece.failed_ms))

    def cut(self, request: InFlightRequest[Any]) -> None:
        """Cancel the connector's call for a request that has ended for the writer."""
        if request.worker is not None and request.worker.request is request:
            request.worker.cut()

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
