"""What is timed under Spark beside micro-batches: a checkpoint on a slow store, and one large batch job."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from pyspark.sql import SparkSession

from asyncsink_testing.bench_streams import WARM_UP, add_files

SITE = Path(__file__).with_name("spark_site")
SLOW = "slow"
ROUND_TRIPS = "ASYNCSINK_BENCH_ROUND_TRIPS"
"""As in `slow_store.py`, which only Spark's Python processes have on their path."""


@contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    """Two cores, and on the path of Spark's Python processes the connectors of the benchmark.

    :param folder: where the slow store counts its round trips
    """
    log = folder / "round-trips.log"
    log.touch()
    os.environ[ROUND_TRIPS] = str(log)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, bool | float | int | str | None] = {
        # A store of its own name over the local disk, for a checkpoint on a slow one.
        f"spark.hadoop.fs.viewfs.mounttable.{SLOW}.linkFallback": "file:///",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def round_trips(spark: SparkSession, folder: Path, door: str, count: int) -> float:
    """How often a format asks a slow store with the checkpoint for something, on average of so many micro-batches.

    :param folder: where files, checkpoint and the count are kept
    """
    lines, log = folder / "growing", Path(os.environ[ROUND_TRIPS])
    lines.mkdir()
    add_files(lines, range(WARM_UP))
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(lines))
    checkpoint = f"viewfs://{SLOW}{folder}/checkpoint"
    query = stream.writeStream.format(door).option("checkpointLocation", checkpoint).start()
    try:
        query.processAllAvailable()
        before = len(log.read_text().splitlines())
        add_files(lines, range(WARM_UP, WARM_UP + count))
        query.processAllAvailable()
    finally:
        query.stop()
    trips = len(log.read_text().splitlines()) - before
    if not trips:
        raise RuntimeError(f"{door} has not asked for anything at {checkpoint}: it keeps no ledger there")
    return trips / count


def thousand_rows_per_s(spark: SparkSession, door: str, rows: int, tasks: int, size: int = 100) -> float:
    """Send so many binary values of so many bytes to a format, in so many tasks; how many thousands went a second."""
    values = spark.range(0, rows, 1, tasks).selectExpr(f"X'{'61' * size}' AS value")
    start = perf_counter()
    values.write.format(door).mode("append").save()
    return rows / (perf_counter() - start) / 1000
