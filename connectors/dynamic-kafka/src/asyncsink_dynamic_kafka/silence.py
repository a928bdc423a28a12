"""Clusters that nothing is written to now and that do not answer: a commit does not wait for them time after time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from asyncsink_dynamic_kafka.metadata.identifiers import KafkaClusterIdentifier

ANSWER_S: Final = 5.0
"""For the answer of such a cluster."""
_SHORTEST_PAUSE_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 300.0


class Silence:
    """Remembers of each cluster since when, and for how long, it is not to be asked.

    :param clock: seconds from any moment on
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pauses: dict[tuple[str, KafkaClusterIdentifier], tuple[float, float]] = {}

    def holds(self, sink: str, cluster: KafkaClusterIdentifier) -> bool:
        """Whether it is too early to ask the cluster again."""
        since, pause_s = self._pauses.get((sink, cluster), (0.0, 0.0))
        return pause_s > 0 and self._clock() < since + pause_s

    def begin(self, sink: str, cluster: KafkaClusterIdentifier) -> float:
        """The cluster has not answered; returns the seconds until it may be asked again, twice as many each time."""
        _, before_s = self._pauses.get((sink, cluster), (0.0, 0.0))
        pause_s = min(max(2 * before_s, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
        self._pauses[sink, cluster] = self._clock(), pause_s
        return pause_s

    def end(self, sink: str, cluster: KafkaClusterIdentifier) -> None:
        """The cluster has answered."""
        self._pauses.pop((sink, cluster), None)
