"""What is seen of produce requests: counts, times, and how long brokers want to be left alone."""

from __future__ import annotations

import logging
from collections.abc import Callable

from asyncsink.metrics import WriterMetrics
from asyncsink_kafka.writer.gate import Gate

logger = logging.getLogger(__name__)


class Requests:
    """Told by the client of each produce request; one carries a batch for each of many partitions."""

    def __init__(self, gate: Gate, clock: Callable[[], float]) -> None:
        self._gate, self._clock = gate, clock
        self.metrics: WriterMetrics | None = None
        self.started_count = self.failed = self.in_flight = 0
        self.throttled_records = 0
        self.sent_records = self.sent_bytes = 0
        self.last_send_time_s: float | None = None
        self._records = 0
        self._has_warned = False

    def started(self, records: int, size_in_bytes: int) -> None:
        """A request is being sent."""
        self.started_count += 1
        self.in_flight += 1
        self.sent_records += records
        self.sent_bytes += size_in_bytes
        self._records = records
        if self.metrics is not None:
            # The oldest row of a request is not known here: aiokafka has put it together.
            self.metrics.started(records, size_in_bytes, -1, self._clock())

    def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
        """A request has ended; `failed_code` is that of a batch, or of the connection, if any failed."""
        self.in_flight -= 1
        self.last_send_time_s = seconds
        self.failed += failed_code is not None
        if self.metrics is not None:
            self.metrics.ended(seconds)
        self._gate.throttle(throttle_s)
        if throttle_s > 0:
            self.throttled_records += self._records
            if not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "a quota of the brokers throttles this client, for %.3f s at first: see the user's "
                    "producer_byte_rate; rows are not lost by it",
                    throttle_s,
                )
