"""Who is told of the metrics."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

from asyncsink.errors import ConfigurationError
from asyncsink.metrics.metric import HistogramStatistics

LOGGER_NAME = "asyncsink.metrics"


@runtime_checkable
class MetricReporter(Protocol):
    """Carries snapshots elsewhere; named by ``package.module:Name`` where only a string can be given.

    Called on the thread that asked for the report, on the event loop where that is :meth:`Metrics.run`: it must not
    block, but hand over.
    """

    def report(self, snapshot: Mapping[str, Any]) -> None:
        """Take the values by ``scope.name``; histograms as :class:`HistogramStatistics`."""


class LoggingReporter:
    """Logs a line for each group, at INFO, on the logger ``asyncsink.metrics``::

    asyncsink.kinesis: currentSendTime=12.4 numRecordsOut=48000 requestTimeSeconds=(count=96 p50=0.011 ...)
    """

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER_NAME)

    def report(self, snapshot: Mapping[str, Any]) -> None:
        """Log the values by group; formats nothing where INFO is off."""
        if not self._logger.isEnabledFor(logging.INFO):
            return
        for scope, metrics in groupby(snapshot.items(), key=lambda each: each[0].rpartition(".")[0]):
            values = " ".join(f"{name.rpartition('.')[2]}={_shown(value)}" for name, value in metrics)
            self._logger.info("%s: %s", scope or "metrics", values)


def load_reporter(reporter: MetricReporter | str) -> MetricReporter:
    """The reporter itself, or a new one of the class that ``"package.module:Name"`` names.

    :raises ConfigurationError: there is no such class, it takes arguments, or it cannot report
    """
    loaded: Any = _made(reporter) if isinstance(reporter, str) else reporter
    if isinstance(loaded, type) or not isinstance(loaded, MetricReporter):
        raise ConfigurationError(
            f"{reporter!r} is no metrics reporter; it must be an object with a method report(snapshot), or the import "
            "path of a class of such objects"
        )
    return loaded


def _made(path: str) -> Any:
    from asyncsink.plugins import load_object  # only here: it imports sinks, which import this

    found = load_object(path)
    if not isinstance(found, type):
        return found
    try:
        return found()
    except Exception as error:
        raise ConfigurationError(
            f"metrics reporter {path!r} cannot be made without arguments: {type(error).__name__}: {error}; "
            "name a class that needs none, or give the object itself"
        ) from error


def _shown(value: Any) -> str:
    if isinstance(value, HistogramStatistics):
        parts = {"p50": value.quantile(0.5), "p99": value.quantile(0.99), "max": value.max, "mean": value.mean}
        return f"(count={value.count} {' '.join(f'{name}={_shown(part)}' for name, part in parts.items())})"
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
