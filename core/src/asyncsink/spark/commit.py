"""What a task tells the driver when all of its rows are stored, and what the driver makes of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from time import time
from types import MappingProxyType

from pyspark.sql.datasource import WriterCommitMessage

from asyncsink.errors import AccountingError
from asyncsink.ledger import BatchProgress, KeptState
from asyncsink.metrics.kept import Together, together
from asyncsink.transactions.transaction import Transaction

logger = logging.getLogger(__name__)

Snapshot = bytes


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    """The sum of one task; sent only once everything it wrote is acknowledged or durably given up.

    Fields that a worker of another release does not know have their defaults.

    :param partition: Spark's partition
    :param rows: elements that the destination has stored
    :param requests: sends, resends included
    :param retried: entries sent again, once for each time
    :param throttled: entries that the service throttled, once for each time
    :param bytes: of the rows in Arrow's form, as Spark handed them over
    :param seconds: from the task's first batch to the last acknowledgement
    :param dead_lettered: rows that were given up and kept as dead letters
    :param dropped: rows that were given up, as the user asked
    :param rows_in: rows that Spark has handed over
    :param restored: entries of a state that the writer has taken over
    :param left: entries in the state that the writer has left
    :param failed_requests: requests that ended without an answer for each entry
    :param limit: entries that the next request may hold by the rate limit
    :param request_p50_s: the median of the time of a request
    :param request_p99_s: the 99th percentile of it
    :param worker: the process, as ``host:pid``
    :param started_s: when the first batch came, in seconds since the epoch by the worker's clock
    :param query_id: Spark's id of the query; None for batch jobs
    :param is_kept: whether the ledger is this query's
    :param skipped: whether a batch by this number had been committed before, so that its rows were only counted
    :param follows: the batch after which the ledger stood when this one was planned
    :param metrics: of the writer, as its sink wants them kept
    :param learned: what the rate limits of the worker have learned, by scope
    :param claimed: partitions of the batch before whose states the writer has taken over
    :param states: what the writer leaves to the next batch
    :param transaction: what the task has prepared for; None where the sink has no committer
    :param committables: what it has prepared, as the sink's serializer wrote it
    """

    partition: int
    rows: int = 0
    requests: int = 0
    retried: int = 0
    throttled: int = 0
    bytes: int = 0
    seconds: float = 0.0
    dead_lettered: int = 0
    dropped: int = 0
    rows_in: int = 0
    restored: int = 0
    left: int = 0
    failed_requests: int = 0
    limit: int | None = None
    request_p50_s: float | None = None
    request_p99_s: float | None = None
    worker: str = ""
    started_s: float = 0.0
    query_id: str | None = None
    is_kept: bool = False
    skipped: bool = False
    follows: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    learned: tuple[tuple[str, Snapshot], ...] = ()
    claimed: tuple[int, ...] = ()
    states: tuple[KeptState, ...] = ()
    transaction: Transaction | None = None
    committables: tuple[KeptState, ...] = ()


def commits(messages: Iterable[WriterCommitMessage | None]) -> list[TaskCommit]:
    """The messages of tasks that have ended well."""
    return [message for message in messages if isinstance(message, TaskCommit)]


def summed(
    sink: str, batch_id: int | None, tasks: Sequence[TaskCommit], metrics: Mapping[str, Together] = MappingProxyType({})
) -> BatchProgress:
    """What became of a batch.

    :param metrics: which of the tasks' are kept, and how they become one
    :raises AccountingError: a row that Spark handed over is not accounted for
    """
    busy = [task for task in tasks if task.rows_in or task.restored]
    progress = BatchProgress(
        sink=sink,
        query_id=next((task.query_id for task in tasks), None),
        batch_id=batch_id,
        committed_at_ms=round(time() * 1000),
        skipped=bool(tasks) and all(task.skipped for task in tasks),
        tasks=len(busy),
        rows_in=sum(task.rows_in for task in busy),
        restored=sum(task.restored for task in busy),
        rows=sum(task.rows for task in busy),
        dead_lettered=sum(task.dead_lettered for task in busy),
        dropped=sum(task.dropped for task in busy),
        left=sum(task.left for task in busy),
        bytes=sum(task.bytes for task in busy),
        requests=sum(task.requests for task in busy),
        failed_requests=sum(task.failed_requests for task in busy),
        retried=sum(task.retried for task in busy),
        throttled=sum(task.throttled for task in busy),
        limit=min((task.limit for task in busy if task.limit is not None), default=None),
        writers=at_once(busy),
        slowest_task_s=max((task.seconds for task in busy), default=0.0),
        request_p50_s=median_low(found) if (found := [t.request_p50_s for t in busy if t.request_p50_s]) else None,
        request_p99_s=max((task.request_p99_s for task in busy if task.request_p99_s), default=None),
        metrics=together((task.metrics for task in busy), metrics),
    )
    if not progress.skipped and not progress.is_whole:
        raise AccountingError(
            f"the tasks of {_batch(progress)} were handed {progress.rows_in} rows and {progress.restored} entries "
            f"before them, and account for {progress.rows} stored, {progress.dead_lettered} dead-lettered, "
            f"{progress.dropped} dropped and {progress.left} left; this is a bug of asyncsink or of the connector"
        )
    return progress


def at_once(tasks: Sequence[TaskCommit]) -> int | None:
    """The most tasks that were at work at one moment; None if none was."""
    starts = sorted(task.started_s for task in tasks)
    ends = sorted(task.started_s + task.seconds for task in tasks)
    running = most = ended = 0
    for start in starts:
        while ends[ended] < start:
            ended, running = ended + 1, running - 1
        running += 1
        most = max(most, running)
    return most or None


def log_progress(progress: BatchProgress) -> None:
    """Write one line about a batch job, or about one micro-batch, to the log."""
    if progress.skipped:
        logger.info("asyncsink.%s: it was committed before, and is not sent again", _batch(progress))
        return
    logger.info(
        "asyncsink.%s: %d rows (%d bytes) stored by %d requests of %d tasks%s; %d entries sent again, %d throttled; "
        "slowest task %.3f s",
        _batch(progress),
        progress.rows,
        progress.bytes,
        progress.requests,
        progress.tasks,
        _given_up(progress),
        progress.retried,
        progress.throttled,
        progress.slowest_task_s,
    )


def _batch(progress: BatchProgress) -> str:
    return progress.sink if progress.batch_id is None else f"{progress.sink} batch {progress.batch_id}"


def _given_up(progress: BatchProgress) -> str:
    counts = {"dead-lettered": progress.dead_lettered, "dropped": progress.dropped}
    return "".join(f", {count} rows {what}" for what, count in counts.items() if count)
