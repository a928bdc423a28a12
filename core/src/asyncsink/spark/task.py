"""One task of Spark: its Arrow batches through the mailbox into a writer on the worker's loop."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from time import monotonic, time
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from asyncsink.context import WriterInitContext
from asyncsink.errors import AsyncSinkError
from asyncsink.ledger import KeptState
from asyncsink.metrics import Metrics
from asyncsink.metrics.kept import kept
from asyncsink.processing_time import ProcessingTimers
from asyncsink.spark.commit import TaskCommit
from asyncsink.spark.limits import learned, teach, with_its_part
from asyncsink.spark.mailbox import Mailbox
from asyncsink.spark.planning import Plan
from asyncsink.spark.process import spare_what_is_loaded
from asyncsink.spark.recovery import Recovered
from asyncsink.spark.sentences import ours
from asyncsink.spark.worker import Worker
from asyncsink.spark.writing import counted, write_rows
from asyncsink.transactions.committing import kept_committables
from asyncsink.transactions.transaction import Transaction
from asyncsink.writer_states import kept_states, restored_states

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Task:
    """What is known of a task before its first row comes."""

    plan: Plan
    partition: int
    attempt: int
    query_id: str | None
    batch_id: int | None
    recovered: Recovered | None

    @property
    def states(self) -> tuple[KeptState, ...]:
        if self.recovered is None:
            return ()
        union = self.plan.sink.union_states
        return self.recovered.all_states if union else self.recovered.states_of(self.partition)

    @property
    def claimed(self) -> tuple[int, ...]:
        """The partitions whose states the writer takes over."""
        if self.recovered is not None and self.plan.sink.union_states:
            return tuple(self.recovered.state.writer_states)
        return (self.partition,) if self.states else ()

    def left(self, states: tuple[KeptState, ...]) -> tuple[KeptState, ...]:
        """Those of the states that the ledger has to keep."""
        return () if self.recovered is None and self.plan.sink.union_states else states

    @property
    def is_committed(self) -> bool:
        """Whether the ledger has the batch by this number as its last one, or the job by this name among its last."""
        if self.recovered is None:
            return False
        if self.batch_id is None:
            return self.plan.job is not None and self.plan.job in self.recovered.jobs
        return self.recovered.is_committed(self.batch_id)

    @property
    def transaction(self) -> Transaction | None:
        return None if self.recovered is None else self.recovered.transaction

    def commit(self, **counts: Any) -> TaskCommit:
        """The message to the driver, with what a task without rows tells too."""
        return TaskCommit(
            partition=self.partition,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            query_id=self.query_id,
            is_kept=self.recovered is not None,
            follows=None if self.recovered is None else self.recovered.state.batch_id,
            transaction=self.transaction,
            **counts,
        )


def write_task(plan: Plan, recovered: Recovered | None, batches: Iterator[pa.RecordBatch]) -> TaskCommit:
    """Write all batches of this task; returns once every row is acknowledged, or given up for good.

    Nothing needs to happen after it: Spark may kill the process at any moment and runs the task again.

    :param recovered: what the ledger said when the batch was planned, if there is one
    :raises AsyncSinkError: why rows could not be delivered; Spark repeats the task
    """
    with ours(f"writing to connector {plan.connector!r}"):
        task = _begun(plan, recovered)
        is_committed = task.is_committed
    if is_committed:
        # Read all the same: the driver tells another batch by its rows, and Spark's operators keep what they know at
        # the end of their rows.
        return task.commit(skipped=True, rows_in=sum(batch.num_rows for batch in batches))
    first = next(batches, None)
    if first is None:
        return task.commit()
    started_s, begun_s = time(), monotonic()
    size_in_bytes = rows_in = 0
    worker = Worker.current()
    with worker.serve(partial(_write, task, worker)) as mailbox:
        for batch in chain([first], batches):
            batch_bytes = batch.nbytes
            mailbox.put(batch, batch_bytes)
            size_in_bytes += batch_bytes
            rows_in += batch.num_rows
        done = mailbox.finish()
    spare_what_is_loaded()
    logger.info("asyncsink.%s task of partition %d: %s", plan.connector, task.partition, done)
    told: TaskCommit = replace(
        done, rows_in=rows_in, bytes=size_in_bytes, started_s=started_s, seconds=monotonic() - begun_s
    )
    return told


async def _write(task: _Task, worker: Worker, mailbox: Mailbox[pa.RecordBatch, TaskCommit]) -> TaskCommit:
    """Enter a writer, serve the mailbox, flush and leave: all in this one task of the loop."""
    with ours(f"writing to connector {task.plan.connector!r}"):
        sink, metrics = with_its_part(task.plan.sink, task.recovered, task.plan.parallelism), Metrics()
        teach(worker.clients, sink, task.recovered)
        states = restored_states(sink, task.states, f"the writer of partition {task.partition}")
        timers = ProcessingTimers()
        context = _context(task, worker, metrics, timers)
        async with timers.running(), sink.create_writer(context, states) as writer:
            rows = await write_rows(writer, mailbox)
            await writer.flush(end_of_input=True)
            prepared = await writer.prepare_commit(flush=True)
            left = kept_states(sink, writer.snapshot_state())
        snapshot = metrics.snapshot()
        return task.commit(
            **counted(writer, rows, snapshot),
            metrics=kept(snapshot, sink.progress_metrics),
            claimed=task.claimed,
            states=task.left(left),
            committables=kept_committables(sink, prepared),
            learned=learned(worker.clients, sink),
        )


def _begun(plan: Plan, recovered: Recovered | None) -> _Task:
    task = TaskContext.get()
    if task is None:
        raise AsyncSinkError("a writer of asyncsink.spark was called outside a Spark task; let Spark call it")
    # A batch job within foreachBatch has these properties too. It may be one of several there, and rows of two jobs
    # must not share their ids.
    query_id = task.getLocalProperty("sql.streaming.queryId") if plan.streaming else None
    batch_id = task.getLocalProperty("streaming.sql.batchId") if plan.streaming else None
    if recovered is not None and not recovered.is_of(query_id):
        recovered = None
    return _Task(
        plan,
        partition=task.partitionId(),
        # attemptNumber begins anew with each attempt at a stage, while tasks of the one before may still run.
        attempt=task.taskAttemptId(),
        query_id=query_id,
        batch_id=None if batch_id is None else int(batch_id),
        recovered=recovered,
    )


def _context(task: _Task, worker: Worker, metrics: Metrics, timers: ProcessingTimers) -> WriterInitContext:
    return WriterInitContext(
        writer_id=task.partition,
        attempt=task.attempt,
        query_id=task.query_id or task.plan.run_id,
        batch_id=task.batch_id,
        restored_batch_id=task.recovered.state.batch_id if task.recovered and task.states else None,
        schema=task.plan.schema,
        clients=worker.clients,
        metric_group=metrics.group,
        processing_time_service=timers,
        transaction=task.transaction,
    )
