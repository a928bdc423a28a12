"""The program that is killed: it runs a query for each line of its stdin, until all that is there is committed.

A line is JSON: the query's folder, and into how many partitions its rows go. The answer is a line too: ``done``, with
the errors of queries that failed and were started again from their checkpoint.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

MOST_FAILURES = 3


def main() -> None:
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        # A JVM that lives for seconds has nothing of the second compiler.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": "512m",
    }
    # Four tries for each task: a worker that is killed costs its task and not the query.
    session = SparkSession.builder.master("local[2, 4]").config(map=settings).getOrCreate()
    for line in sys.stdin:
        job = json.loads(line)
        failures = run(session, Path(job["folder"]), job["partitions"])
        sys.stdout.write(f"done {json.dumps(failures)}\n")
        sys.stdout.flush()


def run(session: SparkSession, folder: Path, partitions: int) -> list[str]:
    """Run the query to its end; what it failed with on the way."""
    failures: list[str] = []
    while True:
        try:
            run_once(session, folder, partitions)
        except StreamingQueryException as error:
            failures.append(str(error))
            if len(failures) == MOST_FAILURES:
                return failures
        else:
            return failures


def run_once(session: SparkSession, folder: Path, partitions: int) -> None:
    lines = session.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "lines"))
    rows = lines.repartition(partitions).selectExpr("CAST(value AS BIGINT) AS id")
    writer = rows.writeStream.format("asyncsink").option("sink", "stopping").trigger(availableNow=True)
    writer = writer.option("folder", str(folder)).option("ledgerLocation", f"held:{folder / 'ledger'}")
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()


if __name__ == "__main__":
    main()
