"""What a writer tells of itself, under Flink's names and some more."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, Final, Protocol

from asyncsink.metrics.group import MetricGroup
from asyncsink.metrics.metric import (
    PICTURES,
    RESERVOIR_SIZE,
    HistogramStatistics,
    ObservedCounter,
    ObservedHistogram,
)

MOST_MARKS: Final = 4096
MARK_EVERY_S: Final = 0.001
MARK_PRECISION: Final = 0.01


class WriterCounts(Protocol):
    """The counts that are told, as :class:`~asyncsink.WriterStatistics` has them; other writers bring their own."""

    @property
    def accepted(self) -> int: ...
    @property
    def restored(self) -> int: ...
    @property
    def acknowledged(self) -> int: ...
    @property
    def dead_lettered(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def rejected(self) -> int: ...
    @property
    def unacknowledged(self) -> int: ...
    @property
    def buffered_entries(self) -> int: ...
    @property
    def in_flight_entries(self) -> int: ...
    @property
    def in_flight_requests(self) -> int: ...
    @property
    def size_in_bytes(self) -> int: ...
    @property
    def requests(self) -> int: ...
    @property
    def retried_entries(self) -> int: ...
    @property
    def throttled_entries(self) -> int: ...
    @property
    def failed_requests(self) -> int: ...
    @property
    def max_batch_size(self) -> int | None: ...
    @property
    def last_send_time_s(self) -> float | None: ...


COUNTERS: Final[dict[str, Callable[[WriterCounts], int]]] = {
    "numRecordsIn": lambda counts: counts.accepted,
    "numRecordsRestored": lambda counts: counts.restored,
    "numRecordsAcknowledged": lambda counts: counts.acknowledged,
    "numRecordsDeadLettered": lambda counts: counts.dead_lettered,
    "numRecordsDropped": lambda counts: counts.dropped,
    "numRecordsRejected": lambda counts: counts.rejected,
    "numRecordsOutErrors": lambda counts: counts.retried_entries + counts.rejected,
    "numRecordsSendErrors": lambda counts: counts.retried_entries + counts.rejected,
    "numRecordsRetried": lambda counts: counts.retried_entries,
    "numRecordsThrottled": lambda counts: counts.throttled_entries,
    "numRequests": lambda counts: counts.requests,
    "numRequestsFailed": lambda counts: counts.failed_requests,
}
GAUGES: Final[dict[str, Callable[[WriterCounts], Any]]] = {
    "currentSendTime": lambda counts: None if counts.last_send_time_s is None else counts.last_send_time_s * 1000,
    "numRecordsUnacknowledged": lambda counts: counts.unacknowledged,
    "numRecordsBuffered": lambda counts: counts.buffered_entries,
    "numRecordsInFlight": lambda counts: counts.in_flight_entries,
    "numRequestsInFlight": lambda counts: counts.in_flight_requests,
    "numBytesUnacknowledged": lambda counts: counts.size_in_bytes,
    "rateLimit": lambda counts: counts.max_batch_size,
}


class WriterMetrics:
    """Registers the metrics of one writer and measures its requests; the package's docstring has the table.

    Counts are read off the writer when somebody asks. Per block there is one call, per request two, on the writer's
    thread: about 1 us in all, measured in a writer at work. Where the group is not registered the writer makes none of
    these calls and no such object.

    :param group: where to register; a successor in the same group takes the place of this writer
    :param read: gives the writer's counts; called on any thread
    :param max_batch_size: entries that fill a request
    :ivar ended: to be called when a request has ended, with the seconds since it was started
    """

    __slots__ = (
        "_accepted_s",
        "_bytes",
        "_counts",
        "_fill",
        "_first",
        "_next",
        "_queued",
        "_records",
        "_sequences",
        "_times",
        "ended",
    )

    def __init__(self, group: MetricGroup, read: Callable[[], WriterCounts], max_batch_size: int) -> None:
        self._counts = read
        self._records = self._bytes = 0
        self._sequences: list[int] = []
        self._times: list[float] = []
        # The mark that was used last: who sends a large block asks for the same one again and again.
        self._first, self._next, self._accepted_s = 0, 0.0, 0.0
        sizes, queued, took = (deque[float](maxlen=RESERVOIR_SIZE) for _ in range(3))
        self._fill, self._queued = sizes.append, queued.append
        self.ended: Callable[[float], None] = took.append
        for name, of in COUNTERS.items():
            group.counter(name, ObservedCounter(partial(self._read, of)))
        for name, show in GAUGES.items():
            group.gauge(name, partial(self._read, show))
        for name in ("numRecordsOut", "numRecordsSend"):
            group.counter(name, ObservedCounter(lambda: self._records))
        for name in ("numBytesOut", "numBytesSend"):
            group.counter(name, ObservedCounter(lambda: self._bytes))
        for name, count, values, scale in (
            ("batchFillRatio", _started, sizes, 1 / max_batch_size),
            ("queueTimeSeconds", _started, queued, 1.0),
            ("requestTimeSeconds", _ended, took, 1.0),
        ):
            group.histogram(name, ObservedHistogram(partial(self._distribution, count, values, scale)))

    def accepted(self, sequence: int, now_s: float) -> None:
        """A block was accepted; `sequence` is that of its first entry."""
        times = self._times
        if times and now_s - times[-1] < MARK_EVERY_S:
            return  # its entries count as accepted with those just before
        if len(times) >= MOST_MARKS:
            self._thin_out(now_s)
        if self._next == inf:
            self._next = sequence
        self._sequences.append(sequence)
        times.append(now_s)

    def started(self, entries: int, size_in_bytes: int, first_sequence: int, now_s: float) -> None:
        """A request is being sent, `first_sequence` being that of its oldest entry."""
        self._records += entries
        self._bytes += size_in_bytes
        self._fill(entries)
        if self._first <= first_sequence < self._next or self._find_mark(first_sequence):
            self._queued(now_s - self._accepted_s)

    def close(self) -> None:
        """Keep the last values, and let go of the writer."""
        last = self._counts()
        self._counts = lambda: last
        self._sequences, self._times = [], []

    def _read(self, of: Callable[[WriterCounts], Any]) -> Any:
        pictures = PICTURES.get()
        if pictures is None:
            return of(self._counts())
        if self not in pictures:
            pictures[self] = self._counts()
        return of(pictures[self])

    def _distribution(
        self, count: Callable[[WriterCounts], int], values: deque[float], scale: float
    ) -> HistogramStatistics:
        # A copy in one step of the interpreter: iterating would fail if a value came in meanwhile.
        held = values.copy()
        return HistogramStatistics(self._read(count), tuple(sorted(value * scale for value in held)))

    def _find_mark(self, sequence: int) -> bool:
        at = bisect_right(self._sequences, sequence)
        if not at:
            return False  # it was accepted before all that is remembered
        self._first = self._sequences[at - 1]
        self._next = self._sequences[at] if at < len(self._sequences) else inf
        self._accepted_s = self._times[at - 1]
        return True

    def _thin_out(self, now_s: float) -> None:
        """Keep marks so far apart that a queue time is right to a hundredth: some two thousand are enough for a day."""
        kept: list[int] = []
        last_s = -inf
        for at, time_s in enumerate(self._times):
            if time_s - last_s >= (now_s - time_s) * MARK_PRECISION:
                kept.append(at)
                last_s = time_s
        self._sequences[:] = [self._sequences[at] for at in kept]
        self._times[:] = [self._times[at] for at in kept]


def _started(counts: WriterCounts) -> int:
    return counts.requests


def _ended(counts: WriterCounts) -> int:
    return counts.requests - counts.in_flight_requests
