"""The sinks that the harness knows: how their destination is started, and how what stands in it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from asyncsink_testing.chaos.log import read_log
from asyncsink_testing.chaos.source import Row

AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"


@dataclass(frozen=True, slots=True)
class Target:
    """One sink with its destination.

    :param guarantees: those that the sink can be asked for
    :param service: the module that is the destination: ``python -m SERVICE FOLDER`` writes ``FOLDER/endpoint``, comes
        back to that endpoint when it is started again, keeps what it has stored, and ends with its stdin
    :param options: those of ``format("asyncsink.<name>")``, by endpoint and guarantee; requests of few rows, so that a
        write can be hit half way
    :param stored: the rows that stand in the destination beyond a position, and the position behind them; read
        without the connector's client
    """

    name: str
    guarantees: tuple[str, ...]
    service: str
    options: Callable[[str, str], Mapping[str, str]]
    stored: Callable[[Path, int], tuple[list[Row], int]]


def _http_options(endpoint: str, guarantee: str) -> Mapping[str, str]:
    return {
        "url": f"{endpoint}/rows",
        "maxBatchSize": "5",
        "maxInFlightRequests": "4",
        "requestTimeout": "5s",
        "retry.initialBackoff": "10ms",
        "retry.maxBackoff": "200ms",
        "rateLimit": "none",
    }


TARGETS: Mapping[str, Target] = {
    each.name: each
    for each in (Target("http", (AT_LEAST_ONCE,), "asyncsink_testing.chaos.http_service", _http_options, read_log),)
}
"""By name."""
