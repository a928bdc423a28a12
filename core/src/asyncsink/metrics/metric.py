"""Counters, gauges and histograms: what one metric is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

PICTURES: Final[ContextVar[dict[object, Any] | None]] = ContextVar("asyncsink_metrics_pictures", default=None)
"""Set while a snapshot is taken: what several metrics are read off is noted there, so that all show one moment."""

RESERVOIR_SIZE: Final = 1000
"""Values that a histogram keeps by default: enough for a 99th percentile, and 8 kB of references."""


class Counter:
    """A count that only grows. Any thread may increase and read it."""

    __slots__ = ("_count", "_lock")

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def inc(self, n: int = 1) -> None:
        """Add `n`."""
        with self._lock:
            self._count += n

    @property
    def count(self) -> int:
        return self._count


class ObservedCounter(Counter):
    """A counter that is kept elsewhere and read when somebody asks: counting costs nothing.

    :param read: gives the count; called on the thread that asks
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], int]) -> None:
        super().__init__()
        self._read = read

    def inc(self, n: int = 1) -> None:
        """Not possible.

        :raises TypeError: always
        """
        raise TypeError("an observed counter is increased where it is kept; use counter(name) for one to increase")

    @property
    def count(self) -> int:
        return self._read()


class Gauge(Generic[T_co]):
    """A value of the moment.

    :param read: gives the value; called on the thread that asks
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], T_co]) -> None:
        self._read = read

    @property
    def value(self) -> T_co:
        return self._read()


@dataclass(frozen=True, slots=True)
class HistogramStatistics:
    """A frozen picture of a histogram.

    :param count: values that the histogram was ever given
    :param values: those that it still holds, the latest ones, in ascending order; all but `count` is about them
    """

    count: int = 0
    values: tuple[float, ...] = field(default=(), repr=False)

    @property
    def min(self) -> float | None:
        return self.values[0] if self.values else None

    @property
    def max(self) -> float | None:
        return self.values[-1] if self.values else None

    @property
    def mean(self) -> float | None:
        return sum(self.values) / len(self.values) if self.values else None

    def quantile(self, share: float) -> float | None:
        """The value that `share` (0 to 1) of the values do not exceed; None if there are none.

        The nearest rank: always a value that was measured.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"quantile {share!r} must be a share from 0 to 1, such as 0.99 for the 99th percentile")
        if not self.values:
            return None
        return self.values[max(0, ceil(share * len(self.values)) - 1)]


class Histogram:
    """How values are distributed, over a bounded window of the latest ones, as in Flink.

    One thread at a time updates it; any thread may read it.

    :param size: values that are kept
    """

    __slots__ = ("_append", "_count", "_values")

    def __init__(self, size: int = RESERVOIR_SIZE) -> None:
        self._count = 0
        self._values: deque[float] = deque(maxlen=size)
        self._append = self._values.append

    def update(self, value: float) -> None:
        """Take in a value."""
        self._count += 1
        self._append(value)

    @property
    def count(self) -> int:
        return self._count

    @property
    def statistics(self) -> HistogramStatistics:
        """What has been taken in so far."""
        count = self._count
        # A copy in one step of the interpreter: iterating would fail if a value came in meanwhile.
        return HistogramStatistics(count, tuple(sorted(self._values.copy())))


class ObservedHistogram(Histogram):
    """A histogram that is kept elsewhere and read when somebody asks.

    :param read: gives the statistics; called on the thread that asks
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], HistogramStatistics]) -> None:
        super().__init__(0)
        self._read = read

    def update(self, value: float) -> None:
        """Not possible.

        :raises TypeError: always
        """
        raise TypeError("an observed histogram is updated where it is kept; use histogram(name) for one to update")

    @property
    def count(self) -> int:
        return self._read().count

    @property
    def statistics(self) -> HistogramStatistics:
        return self._read()
