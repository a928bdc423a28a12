"""The connector through Spark, batch and streaming."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import uuid4

import anyio
from anyio.to_thread import run_sync

from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.distribution import is_registered
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.faults import Fault

T = TypeVar("T")

_COLUMNS = "id bigint, key string, text string"
_LIMIT_S = 120.0
"""The first of them starts Spark as well, which takes some seconds."""


@check("spark-batch", since="0.1", limit_s=_LIMIT_S)
async def spark_batch(trial: Trial) -> None:
    """A DataFrame of several partitions, written by ``format("asyncsink.<name>")``, arrives once and as it was.

    Spark finds the connector by its shim, pickles its sink and runs a writer for each partition, in processes of its
    own, with rows as Arrow batches. Look at the shim, at the converter's ``apply_batch``, and at ids or keys that a
    converter makes: two partitions have the same sequence numbers, and ``InitContext.writer_id`` tells them apart.
    """
    session = await _session(trial)
    rows, frame = _rows(trial, session, 6 * trial.batch + 1, partitions=3)
    await _save(trial, session, frame)
    (await trial.seen(rows)).nothing_lost().nothing_doubled().intact()


@check("spark-stream", since="0.1", limit_s=_LIMIT_S)
async def spark_stream(trial: Trial) -> None:
    """Two micro-batches of a streaming query arrive once, and a query that starts again sends only what is new.

    ``writeStream`` with a checkpoint and ``trigger(availableNow=True)``; then a third micro-batch by another query with
    that checkpoint. Each micro-batch has a writer of its own, and the client and the limiters of a Python worker live
    on. Look at what the converter or the client keeps from one micro-batch to the next, and at ids without
    ``InitContext.batch_id``: those of the second micro-batch repeat the first's.
    """
    session = await _session(trial)
    rows = [trial.rows(trial.batch + 1, first=100 * number, text=f"run {number}") for number in range(3)]
    with TemporaryDirectory() as folder:
        for number in (0, 1):
            _put_file(Path(folder), number, rows[number])
        await _stream(trial, session, Path(folder))
        (await trial.seen([*rows[0], *rows[1]])).nothing_lost().nothing_doubled().intact()
        before = len(trial.destination.requests or ())
        _put_file(Path(folder), 2, rows[2])
        await _stream(trial, session, Path(folder))
    (await trial.seen([*rows[0], *rows[1], *rows[2]])).nothing_lost().nothing_doubled().intact()
    _check_only_new(trial, before, rows[2])


@check("spark-task-retried", since="0.1", needs=[Fault.FATAL], limit_s=_LIMIT_S)
async def spark_task_retried(trial: Trial) -> None:
    """A task that fails after some of its rows were stored is tried again, and nothing is lost.

    The destination stores the first request and answers the second in a way that no retry can mend; the task must
    fail, so that Spark runs it again with the same rows. They may stand there twice, unless the destination drops
    repetitions. Look for an error of the service that the connector takes for success, for a writer that keeps quiet
    of its failure, and for ids that hold ``InitContext.attempt``: a repetition must have those of the first try.
    """
    session = await _session(trial)
    rows, frame = _rows(trial, session, 6 * trial.batch, partitions=1)
    trial.destination.script([Fault.OK, Fault.FATAL])
    await _save(trial, session, frame)
    delivery = (await trial.seen(rows)).nothing_lost().intact()
    if delivery.requests is not None and not any(each.fault is Fault.FATAL for each in delivery.requests):
        trial.fail(
            f"{len(rows)} rows with maxBatchSize = {trial.batch} came in one request, so that no task could fail "
            "half way: look for a batch size of the connector's own"
        )
    if delivery.never_twice:
        delivery.nothing_doubled()


@check("spark-wrong-columns", since="0.1", limit_s=_LIMIT_S)
async def spark_wrong_columns(trial: Trial) -> None:
    """Columns that the connector cannot take are refused before the job starts, with one sentence about them.

    A DataFrame with an interval, or what ``SinkConformance.spark_wrong_columns`` makes, is written. Spark's error must
    end with a ``SchemaError`` or another error of asyncsink that is no bug, no task may have started, and nothing may
    have been sent. Check columns in ``AsyncSink.converter``, which is called on the driver too, and leave planning to
    ``ConnectorDataSource``.
    """
    session = await _session(trial)
    _, fine = _rows(trial, session, trial.batch, partitions=1)
    frame = trial.subject.spark_wrong_columns(trial.subject.spark_columns(fine))
    if frame is None:
        raise NotApplicableError("its suite knows no columns that the connector refuses")
    group = f"asyncsink-{uuid4().hex}"
    told = await _in_thread(session, lambda: _error_of(lambda: _write(trial, frame, group)))
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


# ---- rows and queries ----------------------------------------------------------------------------------------


def _rows(trial: Trial, session: Any, count: int, partitions: int) -> tuple[list[Row], Any]:
    """So many rows, and a DataFrame that makes the same in its own process."""
    rows = [{"id": number, "key": f"key-{number}", "text": f"✓ {number}"} for number in range(count)]
    frame = session.range(0, count, 1, partitions).selectExpr(
        "id", "concat('key-', id) AS key", "concat('✓ ', id) AS text"
    )
    return rows, frame


def _put_file(folder: Path, number: int, rows: Sequence[Row]) -> None:
    """What becomes a micro-batch."""
    incoming = folder / "incoming"
    incoming.mkdir(exist_ok=True)
    file = incoming / f"{number}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    # Spark takes the oldest file first.
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def _write(trial: Trial, frame: Any, group: str) -> None:
    frame.sparkSession.sparkContext.setJobGroup(group, "a check of asyncsink-testing")
    door = f"asyncsink.{trial.subject.connector}"
    frame.write.format(door).options(**trial.options()).mode("append").save()


async def _save(trial: Trial, session: Any, frame: Any) -> None:
    ready = trial.subject.spark_columns(frame)
    _check_done(trial, await _in_thread(session, lambda: _error_of(lambda: _write(trial, ready, "asyncsink"))))


async def _stream(trial: Trial, session: Any, folder: Path) -> None:
    """Write the files that no earlier query with this folder has written, each as one micro-batch."""

    def run() -> None:
        stream = session.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder / "incoming"))
        writer = trial.subject.spark_columns(stream).writeStream.format(f"asyncsink.{trial.subject.connector}")
        writer = writer.options(**trial.options()).option("checkpointLocation", str(folder / "checkpoint"))
        writer.outputMode("append").trigger(availableNow=True).start().awaitTermination()

    _check_done(trial, await _in_thread(session, lambda: _error_of(run)))


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


def _check_done(trial: Trial, told: str | None) -> None:
    if told is not None:
        trial.fail(
            f"Spark could not write to format('asyncsink.{trial.subject.connector}'): {told}\nThe same checks without "
            "Spark say more of the writer; if they pass, look at the shim, at apply_batch and at what is pickled"
        )


def _error_of(call: Callable[[], object]) -> str | None:
    """The sentence that users read if Spark fails: it puts a traceback before it and its own state behind it."""
    try:
        call()
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        return str(error).partition("SQLSTATE")[0].strip().splitlines()[-1]
    return None


# ---- Spark itself --------------------------------------------------------------------------------------------


async def _session(trial: Trial) -> Any:
    """The session of this process, started at first.

    :raises NotApplicableError: Spark is not here, or its workers cannot reach connector and destination
    """
    if trial.subject.in_process:
        raise NotApplicableError("the destination lives in this process, and Spark's workers in others")
    if find_spec("pyspark") is None:
        raise NotApplicableError("PySpark is not installed: pip install asyncsink-testing[spark]")
    if is_registered(trial.subject.connector):
        raise NotApplicableError("it is registered by this program, and Spark's workers look for what is installed")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home, "bin")) if home else None) is None:
        raise NotApplicableError("Spark needs Java 17 or later, and there is none: install it or set JAVA_HOME")
    return await run_sync(_started)


def _started() -> Any:
    from pyspark.sql import SparkSession

    # Otherwise the workers would be of another Python, which does not have the connector.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
    }
    # Two cores, and four tries for each task.
    session = SparkSession.builder.master("local[2, 4]").config(map=settings).getOrCreate()
    _stop_at_exit(session)
    return session


@cache
def _stop_at_exit(session: Any) -> None:
    """Once for each session: a program may have stopped an earlier one."""
    atexit.register(session.stop)


async def _in_thread(session: Any, call: Callable[[], T]) -> T:
    """Run what blocks beside the destination's loop; what is cancelled ends in Spark too."""

    def run() -> T:
        # This makes it the active session of the thread: without one Spark finds no data source of Python.
        session.createDataFrame([], _COLUMNS)
        return call()

    try:
        return await run_sync(run, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        session.sparkContext.cancelAllJobs()
        for query in session.streams.active:
            query.stop()
        raise
