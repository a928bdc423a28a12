"""What the checks through Spark share: its session, rows and queries."""

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
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync

from asyncsink_testing.conformance.check import NotApplicableError
from asyncsink_testing.conformance.distribution import is_registered
from asyncsink_testing.conformance.trial import Row, Trial

T = TypeVar("T")

COLUMNS = "id bigint, key string, text string"
LIMIT_S = 120.0
"""For one check. The first of them starts Spark as well, which takes some seconds."""

# ---- rows and queries ----------------------------------------------------------------------------------------


def rows_and_frame(trial: Trial, session: Any, count: int, partitions: int) -> tuple[list[Row], Any]:
    """So many rows, and a DataFrame that makes the same in its own process."""
    rows = [{"id": number, "key": f"key-{number}", "text": f"✓ {number}"} for number in range(count)]
    frame = session.range(0, count, 1, partitions).selectExpr(
        "id", "concat('key-', id) AS key", "concat('✓ ', id) AS text"
    )
    return rows, frame


def put_file(folder: Path, number: int, rows: Sequence[Row]) -> None:
    """What becomes a micro-batch."""
    incoming = folder / "incoming"
    incoming.mkdir(exist_ok=True)
    file = incoming / f"{number}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    # Spark takes the oldest file first.
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def write(trial: Trial, frame: Any, group: str) -> None:
    """Run a batch job that writes the frame, and wait for it."""
    frame.sparkSession.sparkContext.setJobGroup(group, "a check of asyncsink-testing")
    door = f"asyncsink.{trial.subject.connector}"
    frame.write.format(door).options(**trial.options()).mode("append").save()


async def save(trial: Trial, session: Any, frame: Any) -> None:
    """Write the frame by a batch job, which must succeed."""
    ready = trial.subject.spark_columns(frame)
    check_done(trial, await in_thread(session, lambda: error_of(lambda: write(trial, ready, "asyncsink"))))


async def stream(trial: Trial, session: Any, folder: Path) -> None:
    """Write the files that no earlier query with this folder has written, each as one micro-batch."""
    check_done(trial, await stream_error(trial, session, folder))


async def stream_error(trial: Trial, session: Any, folder: Path) -> str | None:
    """Likewise; the sentence that users read if the query fails."""

    def run() -> None:
        stream = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder / "incoming"))
        writer = trial.subject.spark_columns(stream).writeStream.format(f"asyncsink.{trial.subject.connector}")
        writer = writer.options(**trial.options()).option("checkpointLocation", str(folder / "checkpoint"))
        writer.outputMode("append").trigger(availableNow=True).start().awaitTermination()

    return await in_thread(session, lambda: error_of(run))


def check_done(trial: Trial, told: str | None) -> None:
    """Fail if Spark has told of an error."""
    if told is not None:
        trial.fail(
            f"Spark could not write to format('asyncsink.{trial.subject.connector}'): {told}\nThe same checks without "
            "Spark say more of the writer; if they pass, look at the shim, at apply_batch and at what is pickled"
        )


def error_of(call: Callable[[], object]) -> str | None:
    """The sentence that users read if Spark fails: it puts a traceback before it and its own state behind it."""
    try:
        call()
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        return str(error).partition("SQLSTATE")[0].strip().splitlines()[-1]
    return None


# ---- Spark itself --------------------------------------------------------------------------------------------


async def session_of(trial: Trial) -> Any:
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


async def in_thread(session: Any, call: Callable[[], T]) -> T:
    """Run what blocks beside the destination's loop; what is cancelled ends in Spark too."""

    def run() -> T:
        # This makes it the active session of the thread: without one Spark finds no data source of Python.
        session.createDataFrame([], COLUMNS)
        return call()

    try:
        return await run_sync(run, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        session.sparkContext.cancelAllJobs()
        for query in session.streams.active:
            query.stop()
        raise
