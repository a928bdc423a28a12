"""What Flink's HTTP sink calls its options, where the meaning is the same, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink.options import Alias

REFUSED: Final[Mapping[str, str]] = {
    "http.sink.writer.request.mode": "set body=json-array for Flink's 'batch', body=single for its 'single'",
    "http.sink.request.batch.size": "set maxBatchSize, the rows of a request",
    "http.sink.writer.thread-pool.size": "requests need no threads; set maxInFlightRequests",
    "http.sink.error.code": "a request counts as stored on 2xx only; the README lists what follows each status",
    "http.sink.error.code.exclude": "a request counts as stored on 2xx only; the README lists what follows each status",
}
"""Names without an equal here, each with what to do instead."""

LENT: Final[Mapping[str, Alias]] = {"requestTimeout": Alias("http.sink.request.timeout", unit="s")}
"""Names for options of the writer."""
