"""What a task tells the driver when all of its rows are stored, and what the driver makes of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    """The sum of one task; sent only once everything it wrote is acknowledged.

    :param partition: Spark's partition
    :param rows: elements that the destination has stored
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


def log_progress(connector: str, batch_id: int | None, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Write one line about a batch job, or about one micro-batch, to the log."""
    tasks = [message for message in messages if isinstance(message, TaskCommit)]
    logger.info(
        "asyncsink.%s%s: %d rows (%d bytes) stored by %d requests of %d tasks; %d entries sent again, %d throttled; "
        "slowest task %.3f s",
        connector,
        "" if batch_id is None else f" batch {batch_id}",
        sum(task.rows for task in tasks),
        sum(task.bytes for task in tasks),
        sum(task.requests for task in tasks),
        len(tasks),
        sum(task.retried for task in tasks),
        sum(task.throttled for task in tasks),
        max((task.seconds for task in tasks), default=0.0),
    )
