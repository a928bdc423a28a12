"""Where metrics are registered: groups within groups, in Flink's terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from asyncsink.metrics.metric import Counter, Gauge, Histogram

T = TypeVar("T")


class MetricGroup(ABC):
    """A named set of metrics, with groups below it (Flink's ``MetricGroup``). Any thread may register.

    A counter or histogram that is asked for again is the same one, so that a successor goes on counting; whatever else
    is registered under a name takes the place of what was there.
    """

    @property
    @abstractmethod
    def scope(self) -> tuple[str, ...]:
        """The names of the groups from the root to here."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The keys and values of the groups that :meth:`add_group` made with a value: labels, for who reports them."""
        return MappingProxyType({})

    @property
    def is_registered(self) -> bool:
        """Whether anybody can read what is registered here; where not, measuring can be left out."""
        return True

    @abstractmethod
    def counter(self, name: str, counter: Counter | None = None) -> Counter:
        """The counter of that name; `counter` registers one of your own, such as an :class:`ObservedCounter`."""

    @abstractmethod
    def gauge(self, name: str, read: Callable[[], T]) -> Gauge[T]:
        """Register a gauge. `read` is called on the thread that takes a snapshot, so it must be safe there."""

    @abstractmethod
    def histogram(self, name: str, histogram: Histogram | None = None) -> Histogram:
        """The histogram of that name; `histogram` registers one of your own, such as one with another size."""

    @abstractmethod
    def add_group(self, key: str, value: str | None = None) -> MetricGroup:
        """The group of that name below this one; with a value it is ``key.value``, and one of :attr:`variables`."""

    def close(self) -> None:  # noqa: B027  # most groups of others have nothing to close
        """Take back all that is registered here and below."""


class _NoCounter(Counter):
    __slots__ = ()

    def inc(self, n: int = 1) -> None:
        pass


class _NoHistogram(Histogram):
    __slots__ = ()

    def update(self, value: float) -> None:
        pass


class UnregisteredMetricGroup(MetricGroup):
    """Keeps nothing: the group where nobody asked for metrics. There is one, :data:`UNREGISTERED`."""

    _counter, _histogram = _NoCounter(), _NoHistogram()

    @property
    def scope(self) -> tuple[str, ...]:
        return ()

    @property
    def is_registered(self) -> bool:
        return False

    def counter(self, name: str, counter: Counter | None = None) -> Counter:
        return self._counter if counter is None else counter

    def gauge(self, name: str, read: Callable[[], T]) -> Gauge[T]:
        return Gauge(read)

    def histogram(self, name: str, histogram: Histogram | None = None) -> Histogram:
        return self._histogram if histogram is None else histogram

    def add_group(self, key: str, value: str | None = None) -> MetricGroup:
        return self

    def __reduce__(self) -> Any:
        return "UNREGISTERED"

    def __repr__(self) -> str:
        return "UNREGISTERED"


UNREGISTERED: Final[MetricGroup] = UnregisteredMetricGroup()
