"""One task of Spark: its Arrow batches through the mailbox into a writer on the worker's loop."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from itertools import chain
from time import monotonic
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from asyncsink.arrow.normalise import normalise
from asyncsink.context import WriteContext, WriterInitContext
from asyncsink.errors import AsyncSinkError
from asyncsink.spark.commit import TaskCommit
from asyncsink.spark.mailbox import Mailbox
from asyncsink.spark.planning import Plan
from asyncsink.spark.sentences import ours
from asyncsink.spark.worker import Worker
from asyncsink.writer import WriterStatistics

logger = logging.getLogger(__name__)


def write_task(plan: Plan, batches: Iterator[pa.RecordBatch]) -> TaskCommit:
    """Write all batches of this task; returns once every row is acknowledged, or given up for good.

    Nothing needs to happen after it: Spark may kill the process at any moment and runs the task again.

    :raises AsyncSinkError: why rows could not be delivered; Spark repeats the task
    """
    task = _task_context()
    first = next(batches, None)
    if first is None:
        return TaskCommit(task.partitionId())
    started_s = monotonic()
    size_in_bytes = 0
    worker = Worker.current()
    with worker.serve(partial(_write, plan, _init_context(plan, task, worker))) as mailbox:
        for batch in chain([first], batches):
            mailbox.put(batch)
            size_in_bytes += batch.nbytes
        statistics = mailbox.finish()
    logger.info("asyncsink.%s task of partition %d: %s", plan.connector, task.partitionId(), statistics)
    return TaskCommit(
        partition=task.partitionId(),
        rows=statistics.acknowledged,
        dead_lettered=statistics.dead_lettered,
        dropped=statistics.dropped,
        requests=statistics.requests,
        retried=statistics.retried_entries,
        throttled=statistics.throttled_entries,
        bytes=size_in_bytes,
        seconds=monotonic() - started_s,
    )


async def _write(
    plan: Plan, context: WriterInitContext, mailbox: Mailbox[pa.RecordBatch, WriterStatistics]
) -> WriterStatistics:
    """Enter a writer, serve the mailbox, flush and leave: all in this one task of the loop."""
    with ours(f"writing to connector {plan.connector!r}"):
        sequence = 0
        async with plan.sink.create_writer(context) as writer:
            async for batch in mailbox:
                await writer.write_batch(normalise(batch), WriteContext(sequence=sequence))
                sequence += batch.num_rows
        return writer.statistics()


def _task_context() -> TaskContext:
    task = TaskContext.get()
    if task is None:
        raise AsyncSinkError("a writer of asyncsink.spark was called outside a Spark task; let Spark call it")
    return task


def _init_context(plan: Plan, task: TaskContext, worker: Worker) -> WriterInitContext:
    query_id: Any = plan.run_id
    batch_id: Any = None
    # A batch job within foreachBatch has these properties too. It may be one of several there, and rows of two jobs
    # must not share their ids.
    if plan.streaming:
        query_id = task.getLocalProperty("sql.streaming.queryId") or plan.run_id
        batch_id = task.getLocalProperty("streaming.sql.batchId")
    return WriterInitContext(
        writer_id=task.partitionId(),
        attempt=task.attemptNumber(),
        query_id=query_id,
        batch_id=None if batch_id is None else int(batch_id),
        schema=plan.schema,
        clients=worker.clients,
    )
