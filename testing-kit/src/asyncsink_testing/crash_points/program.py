"""The program that is killed: it runs a query for each line of its stdin, until all that is there is committed.

A line is JSON: the fields of a :class:`Job`. Queries run at once. The answer is a line too: the name, and the errors of
the query when it failed and was started again from its checkpoint.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

MOST_FAILURES: Final = 3
"""After which a query is not started again."""


@dataclass
class Job:
    """A query: from the lines of its folder to a connector.

    :param query: its name
    :param folder: holds its lines and its checkpoint
    :param ledger: where its ledger lies
    :param partitions: into which its rows go
    :param columns: expressions in SQL, of the column ``value`` with the line
    :param options: of the writer, the connector's name included
    :param failures: its errors so far
    """

    query: str
    folder: str
    ledger: str
    partitions: int
    columns: list[str]
    options: dict[str, str]
    failures: list[str] = field(default_factory=list)


Jobs = SimpleQueue[Job | None]


def main() -> None:
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        # So that a task has written some of its rows, and not all.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2",
        # A JVM that lives for seconds has nothing of the second compiler.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": "512m",
    }
    # Four tries for each task: a worker that is killed costs its task and not the query. Of the slots some are taken by
    # tasks that wait for their end.
    session = SparkSession.builder.master("local[4, 4]").config(map=settings).getOrCreate()
    jobs = Jobs()
    Thread(target=listen, args=(jobs,), daemon=True).start()
    # Here alone: Spark finds Python's data sources in the thread that has made the session.
    while (job := jobs.get()) is not None:
        query = start(session, job)
        Thread(target=follow, args=(query, job, jobs), daemon=True).start()


def listen(jobs: Jobs) -> None:
    for line in sys.stdin:
        jobs.put(Job(**json.loads(line)))
    jobs.put(None)


def start(session: SparkSession, job: Job) -> StreamingQuery:
    folder = Path(job.folder)
    lines = session.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "lines"))
    rows = lines.repartition(job.partitions).selectExpr(*job.columns)
    writer = rows.writeStream.format("asyncsink").options(**job.options).trigger(availableNow=True)
    writer = writer.option("ledgerLocation", job.ledger)
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def follow(query: StreamingQuery, job: Job, jobs: Jobs) -> None:
    """Wait for the end of a query, and answer; or have it started again if it has failed."""
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        job.failures.append(str(error))
        if len(job.failures) < MOST_FAILURES:
            jobs.put(job)
            return
    except BaseException:
        # The test would wait for an answer.
        traceback.print_exc()
        os._exit(1)
    sys.stdout.write(f"{json.dumps([job.query, job.failures])}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
