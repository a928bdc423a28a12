"""How a task uses a writer: rows in, counts out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pyarrow as pa

from asyncsink.arrow.normalise import normalise
from asyncsink.context import WriteContext
from asyncsink.sink import SinkWriter
from asyncsink.writer.statistics import WriterStatistics


async def write_rows(writer: SinkWriter[Any, Any, Any], batches: AsyncIterator[pa.RecordBatch]) -> int:
    """Write all that comes; the number of rows."""
    sequence = 0
    async for batch in batches:
        rows = normalise(batch)
        await writer.write_batch(rows, WriteContext(sequence=sequence))
        sequence += rows.num_rows
    return sequence


def counted(writer: SinkWriter[Any, Any, Any], rows: int, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of a flushed writer, as a commit message has them; one without statistics has stored its rows.

    :param metrics: a snapshot of its metrics
    """
    told: object = writer.statistics()
    if not isinstance(told, WriterStatistics):
        return {"rows": rows}
    times = metrics.get("requestTimeSeconds")
    return {
        "rows": told.acknowledged,
        "restored": told.restored,
        "left": told.unacknowledged,
        "dead_lettered": told.dead_lettered,
        "dropped": told.dropped,
        "requests": told.requests,
        "failed_requests": told.failed_requests,
        "retried": told.retried_entries,
        "throttled": told.throttled_entries,
        "limit": told.max_batch_size,
        "request_p50_s": None if times is None else times.quantile(0.5),
        "request_p99_s": None if times is None else times.quantile(0.99),
    }
