"""What a task tells the driver when all of its rows are stored, and what the driver makes of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    """The sum of one task; sent only once everything it wrote is acknowledged or durably given up.

    Fields that a worker of another release does not know have their defaults.

    :param partition: Spark's partition
    :param rows: elements that the destination has stored
    :param dead_lettered: rows that were given up and kept as dead letters
    :param dropped: rows that were given up, as the user asked
    :param requests: sends, resends included
    :param retried: entries sent again, once for each time
    :param throttled: entries that the service throttled, once for each time
    :param bytes: of the rows in Arrow's form, as Spark handed them over
    :param seconds: from the task's first batch to the last acknowledgement
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


def log_progress(connector: str, batch_id: int | None, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Write one line about a batch job, or about one micro-batch, to the log."""
    tasks = [message for message in messages if isinstance(message, TaskCommit)]
    logger.info(
        "asyncsink.%s%s: %d rows (%d bytes) stored by %d requests of %d tasks%s; %d entries sent again, %d throttled; "
        "slowest task %.3f s",
        connector,
        "" if batch_id is None else f" batch {batch_id}",
        sum(task.rows for task in tasks),
        sum(task.bytes for task in tasks),
        sum(task.requests for task in tasks),
        len(tasks),
        _given_up(tasks),
        sum(task.retried for task in tasks),
        sum(task.throttled for task in tasks),
        max((task.seconds for task in tasks), default=0.0),
    )


def _given_up(tasks: Sequence[TaskCommit]) -> str:
    counts = {
        "dead-lettered": sum(task.dead_lettered for task in tasks),
        "dropped": sum(task.dropped for task in tasks),
    }
    return "".join(f", {count} rows {what}" for what, count in counts.items() if count)
