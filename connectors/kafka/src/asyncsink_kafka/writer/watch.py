"""Deadlines: a partition that takes nothing for too long, and a writer that gets nowhere."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import anyio

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import DestinationUnavailableError, StalledError
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.lanes import Lanes

SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.02, 1.0
"""Between two looks at the clock: a twentieth of the shortest deadline, within these bounds."""


class Watch:
    """Fails the writer when one of its deadlines has passed: aiokafka itself repeats an idempotent batch for ever.

    :param last_error: what the last failed attempt said
    :param told: the writer's counters, for the message
    """

    def __init__(
        self,
        books: Books,
        lanes: Lanes,
        config: AsyncSinkWriterConfig,
        last_error: Callable[[], str | None],
        told: Callable[[], str],
    ) -> None:
        self._books, self._lanes = books, lanes
        self._delivery_s = config.retry.timeout_s
        self._stall_s = inf if config.stall_timeout_s is None else config.stall_timeout_s
        self._last_error, self._told = last_error, told

    async def run(self) -> None:
        """Look until the task is cancelled."""
        look_s = min(max(min(self._delivery_s, self._stall_s) / 20, SHORTEST_LOOK_S), LONGEST_LOOK_S)
        while True:
            await anyio.sleep(look_s)
            self._look()

    def _look(self) -> None:
        now_s = self._books.clock()
        lane = self._lanes.waiting_longest()
        if lane is not None and now_s - lane.since_s >= self._delivery_s:
            self._books.fail(
                DestinationUnavailableError(
                    f"topic {lane.topic!r}, partition {lane.partition} has taken nothing for "
                    f"{now_s - lane.since_s:.1f} s (option retry.timeout, delivery.timeout.ms = {self._delivery_s:g} s"
                    f"); last: {self._last_error() or 'no answer'}; see whether the partition's leader and its "
                    "replicas are up, or raise the option"
                )
            )
        elif self._books.held and now_s - self._books.progress_s >= self._stall_s:
            self._books.fail(
                StalledError(
                    f"nothing was acknowledged for {now_s - self._books.progress_s:.1f} s (option stallTimeout = "
                    f"{self._stall_s:g} s), though rows wait: {self._told()}; last: {self._last_error() or 'no answer'}"
                )
            )
