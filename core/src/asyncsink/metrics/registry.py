"""What was registered, and who is told of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import anyio

from asyncsink.errors import ConfigurationError
from asyncsink.metrics.group import MetricGroup
from asyncsink.metrics.metric import PICTURES, Counter, Gauge, Histogram
from asyncsink.metrics.reporter import MetricReporter, load_reporter

T = TypeVar("T")
Metric = Counter | Gauge[Any] | Histogram
Path = tuple[str, ...]

logger = logging.getLogger(__name__)


class Metrics:
    """A registry of metrics. Every method may be called from any thread.

    ::

        metrics = Metrics(reporters=[LoggingReporter()])
        async with anyio.create_task_group() as group:
            group.start_soon(metrics.run, 10.0)
            async with sink.create_writer(WriterInitContext(metric_group=metrics.group)) as writer:
                ...
            group.cancel_scope.cancel()

    Belongs to one process: it cannot be pickled.

    :param reporters: told by :meth:`report`; objects, or import paths of classes without arguments
    :ivar group: the root of all groups
    :raises ConfigurationError: a reporter cannot be loaded, or is none
    """

    def __init__(self, reporters: Iterable[MetricReporter | str] = ()) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[Path, Metric] = {}
        self._failed: set[Path] = set()
        self.reporters: tuple[MetricReporter, ...] = tuple(map(load_reporter, reporters))
        self.group: MetricGroup = _RegisteredGroup(self, (), MappingProxyType({}))

    def snapshot(self) -> Mapping[str, Any]:
        """All values of this moment by ``scope.name``, in order of their names; frozen.

        A counter gives a number, a gauge what it reads, a histogram its :class:`HistogramStatistics`. A gauge that
        raises gives None, and a warning the first time.
        """
        with self._lock:
            metrics = sorted(self._metrics.items(), key=lambda each: each[0])
        token = PICTURES.set({})
        try:
            return MappingProxyType({".".join(path): self._value(path, metric) for path, metric in metrics})
        finally:
            PICTURES.reset(token)

    def report(self) -> None:
        """Take a snapshot and give it to every reporter; one that raises keeps nothing from the others."""
        snapshot = self.snapshot()
        for reporter in self.reporters:
            try:
                reporter.report(snapshot)
            except Exception:
                logger.exception("metrics reporter %r failed; the others go on", reporter)

    async def run(self, period_s: float) -> None:
        """Report every `period_s` seconds until cancelled, and once more then.

        :raises ConfigurationError: the period is not positive
        """
        if not period_s > 0:
            raise ConfigurationError(f"period_s = {period_s!r} must be a positive number of seconds between reports")
        try:
            while True:
                await anyio.sleep(period_s)
                self.report()
        finally:
            self.report()

    def _value(self, path: Path, metric: Metric) -> Any:
        try:
            if isinstance(metric, Counter):
                return metric.count
            return metric.statistics if isinstance(metric, Histogram) else metric.value
        except Exception as error:
            if path not in self._failed:
                self._failed.add(path)
                logger.warning(
                    "metric %s cannot be read and is None: %s: %s", ".".join(path), type(error).__name__, error
                )
            return None

    def _put(self, path: Path, metric: Metric) -> None:
        with self._lock:
            self._metrics[path] = metric
            self._failed.discard(path)

    def _find_or_put(self, path: Path, kind: type[T], make: Callable[[], T]) -> T:
        with self._lock:
            found = self._metrics.get(path)
            if type(found) is kind:
                return found
            made: Any = make()
            self._metrics[path] = made
            self._failed.discard(path)
            return made  # type: ignore[no-any-return]

    def _remove(self, scope: Path) -> None:
        with self._lock:
            for path in [each for each in self._metrics if each[: len(scope)] == scope]:
                del self._metrics[path]
                self._failed.discard(path)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Metrics belong to one process and cannot be pickled; make them where the writers run")


class _RegisteredGroup(MetricGroup):
    """A scope of a registry; two of the same scope are as one."""

    __slots__ = ("_metrics", "_scope", "_variables")

    def __init__(self, metrics: Metrics, scope: Path, variables: Mapping[str, str]) -> None:
        self._metrics, self._scope, self._variables = metrics, scope, variables

    @property
    def scope(self) -> Path:
        return self._scope

    @property
    def variables(self) -> Mapping[str, str]:
        return self._variables

    def counter(self, name: str, counter: Counter | None = None) -> Counter:
        if counter is None:
            return self._metrics._find_or_put((*self._scope, name), Counter, Counter)
        self._metrics._put((*self._scope, name), counter)
        return counter

    def gauge(self, name: str, read: Callable[[], T]) -> Gauge[T]:
        gauge = Gauge(read)
        self._metrics._put((*self._scope, name), gauge)
        return gauge

    def histogram(self, name: str, histogram: Histogram | None = None) -> Histogram:
        if histogram is None:
            return self._metrics._find_or_put((*self._scope, name), Histogram, Histogram)
        self._metrics._put((*self._scope, name), histogram)
        return histogram

    def add_group(self, key: str, value: str | None = None) -> MetricGroup:
        if value is None:
            return _RegisteredGroup(self._metrics, (*self._scope, key), self._variables)
        variables = MappingProxyType({**self._variables, key: value})
        return _RegisteredGroup(self._metrics, (*self._scope, key, value), variables)

    def close(self) -> None:
        self._metrics._remove(self._scope)

    def __repr__(self) -> str:
        return f"<metric group {'.'.join(self._scope) or 'root'}>"
