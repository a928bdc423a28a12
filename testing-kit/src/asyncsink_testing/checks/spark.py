"""The connector through Spark, batch and streaming."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from asyncsink_testing.checks.through_spark import (
    LIMIT_S,
    error_of,
    in_thread,
    put_file,
    rows_and_frame,
    save,
    session_of,
    stream,
    write,
)
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.faults import Fault


@check("spark-batch", since="0.1", limit_s=LIMIT_S)
async def spark_batch(trial: Trial) -> None:
    """A DataFrame of several partitions, written by ``format("asyncsink.<name>")``, arrives once and as it was.

    Spark finds the connector by its shim, pickles its sink and runs a writer for each partition, in processes of its
    own, with rows as Arrow batches. Look at the shim, at the converter's ``apply_batch``, and at ids or keys that a
    converter makes: two partitions have the same sequence numbers, and ``InitContext.writer_id`` tells them apart.
    """
    session = await session_of(trial)
    rows, frame = rows_and_frame(trial, session, 6 * trial.batch + 1, partitions=3)
    await save(trial, session, frame)
    (await trial.seen(rows)).nothing_lost().nothing_doubled().intact()


@check("spark-stream", since="0.1", limit_s=LIMIT_S)
async def spark_stream(trial: Trial) -> None:
    """Two micro-batches of a streaming query arrive once, and a query that starts again sends only what is new.

    ``writeStream`` with a checkpoint and ``trigger(availableNow=True)``; then a third micro-batch by another query with
    that checkpoint. Each micro-batch has a writer of its own, and the client and the limiters of a Python worker live
    on. Look at what the converter or the client keeps from one micro-batch to the next, and at ids without
    ``InitContext.batch_id``: those of the second micro-batch repeat the first's.
    """
    session = await session_of(trial)
    rows = [trial.rows(trial.batch + 1, first=100 * number, text=f"run {number}") for number in range(3)]
    with TemporaryDirectory() as folder:
        for number in (0, 1):
            put_file(Path(folder), number, rows[number])
        await stream(trial, session, Path(folder))
        (await trial.seen([*rows[0], *rows[1]])).nothing_lost().nothing_doubled().intact()
        before = len(trial.destination.requests or ())
        put_file(Path(folder), 2, rows[2])
        await stream(trial, session, Path(folder))
    (await trial.seen([*rows[0], *rows[1], *rows[2]])).nothing_lost().nothing_doubled().intact()
    _check_only_new(trial, before, rows[2])


@check("spark-task-retried", since="0.1", needs=[Fault.FATAL], limit_s=LIMIT_S)
async def spark_task_retried(trial: Trial) -> None:
    """A task that fails after some of its rows were stored is tried again, and nothing is lost.

    The destination stores the first request and answers the second in a way that no retry can mend; the task must
    fail, so that Spark runs it again with the same rows. They may stand there twice, unless the destination drops
    repetitions. Look for an error of the service that the connector takes for success, for a writer that keeps quiet
    of its failure, and for ids that hold ``InitContext.attempt``: a repetition must have those of the first try.
    """
    session = await session_of(trial)
    rows, frame = rows_and_frame(trial, session, 6 * trial.batch, partitions=1)
    trial.destination.script([Fault.OK, Fault.FATAL])
    await save(trial, session, frame)
    delivery = (await trial.seen(rows)).nothing_lost().intact()
    if delivery.requests is not None and not any(each.fault is Fault.FATAL for each in delivery.requests):
        trial.fail(
            f"{len(rows)} rows with maxBatchSize = {trial.batch} came in one request, so that no task could fail "
            "half way: look for a batch size of the connector's own"
        )
    if delivery.never_twice:
        delivery.nothing_doubled()


@check("spark-wrong-columns", since="0.1", limit_s=LIMIT_S)
async def spark_wrong_columns(trial: Trial) -> None:
    """Columns that the connector cannot take are refused before the job starts, with one sentence about them.

    A DataFrame with an interval, or what ``SinkConformance.spark_wrong_columns`` makes, is written. Spark's error must
    end with a ``SchemaError`` or another error of asyncsink that is no bug, no task may have started, and nothing may
    have been sent. Check columns in ``AsyncSink.converter``, which is called on the driver too, and leave planning to
    ``ConnectorDataSource``.
    """
    session = await session_of(trial)
    _, fine = rows_and_frame(trial, session, trial.batch, partitions=1)
    frame = trial.subject.spark_wrong_columns(trial.subject.spark_columns(fine))
    if frame is None:
        raise NotApplicableError("its suite knows no columns that the connector refuses")
    group = f"asyncsink-{uuid4().hex}"
    told = await in_thread(session, lambda: error_of(lambda: write(trial, frame, group)))
    columns, sent = ", ".join(frame.columns), len(await trial.destination.received())
    if told is None or sent:
        trial.fail(
            f"a DataFrame with the columns {columns} was not refused, and {sent} entries arrived: look at converter(), "
            "which must raise SchemaError for a schema that it cannot take, and at the shim"
        )
    if session.sparkContext.statusTracker().getJobIdsForGroup(group):
        trial.fail(f"the columns {columns} were refused in a task only: check them in converter(). It said: {told}")
    if not told.startswith("asyncsink.errors.") or told.startswith("asyncsink.errors.AsyncSinkError"):
        trial.fail(
            f"the columns {columns} were refused by an error that users cannot read: {told}\nRaise SchemaError in "
            "converter(), with the column, what was expected and what was found"
        )


def _check_only_new(trial: Trial, before: int, new: Sequence[Row]) -> None:
    if trial.destination.requests is None:
        return
    fresh = {row["id"] for row in new}
    for request in trial.destination.requests[before:]:
        again = [number for number in map(trial.id_of, request.payloads) if number not in fresh]
        if again:
            trial.fail(
                f"a query that started again from its checkpoint sent rows {again} anew, though their micro-batches "
                "had been committed: look for rows that outlive their writer"
            )
