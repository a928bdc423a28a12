"""How a task uses a writer: rows in, counts and state out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pyarrow as pa

from asyncsink.arrow.normalise import normalise
from asyncsink.context import WriteContext
from asyncsink.errors import LedgerError
from asyncsink.ledger import KeptState
from asyncsink.metrics import Metrics
from asyncsink.sink import Sink, SinkWriter
from asyncsink.state import BufferedRequestState
from asyncsink.writer.statistics import WriterStatistics


async def write_rows(writer: SinkWriter[Any, Any, Any], batches: AsyncIterator[pa.RecordBatch]) -> int:
    """Write all that comes; the number of rows."""
    sequence = 0
    async for batch in batches:
        rows = normalise(batch)
        await writer.write_batch(rows, WriteContext(sequence=sequence))
        sequence += rows.num_rows
    return sequence


def restored(sink: Sink[Any, Any, Any, Any], kept: Sequence[KeptState], partition: int) -> list[Any]:
    """The states that the writer of a partition starts from.

    :raises LedgerError: the sink has no serializer for writers' states any more, or one that does not read these
    """
    serializer, states = sink.writer_state_serializer, []
    for version, data in kept:
        if serializer is None:
            raise _unreadable(sink, partition, version, "it has no writer_state_serializer")
        try:
            states.append(serializer.deserialize(version, data))
        except ValueError as error:
            # Its text may hold a part of the state.
            kind = type(serializer).__name__
            raise _unreadable(sink, partition, version, f"its {kind} writes version {serializer.version}") from error
    return states


def _unreadable(sink: Sink[Any, Any, Any, Any], partition: int, version: int, why: str) -> LedgerError:
    return LedgerError(
        f"the ledger has a state of version {version} for the writer of partition {partition}, which "
        f"{type(sink).__name__} cannot read: {why}; use the release of the connector that wrote the state, or remove "
        "the ledger, and what writers had left to this batch is lost"
    )


def left_by(sink: Sink[Any, Any, Any, Any], writer: SinkWriter[Any, Any, Any]) -> tuple[KeptState, ...]:
    """What a flushed writer leaves to its successor; an AsyncSinkWriter leaves nothing, as it has sent everything."""
    serializer = sink.writer_state_serializer
    if serializer is None:
        return ()
    states = [state for state in writer.snapshot_state() if not _is_empty(state)]
    return tuple((serializer.version, serializer.serialize(state)) for state in states)


def _is_empty(state: Any) -> bool:
    return isinstance(state, BufferedRequestState) and not state.entries


def counted(writer: SinkWriter[Any, Any, Any], rows: int, metrics: Metrics) -> dict[str, Any]:
    """The counts of a flushed writer, as a commit message has them; one without statistics has stored its rows."""
    told: object = writer.statistics()
    if not isinstance(told, WriterStatistics):
        return {"rows": rows}
    times = metrics.snapshot().get("requestTimeSeconds")
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
