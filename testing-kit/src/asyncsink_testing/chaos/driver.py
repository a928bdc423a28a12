"""The program that is killed: ``python -m asyncsink_testing.chaos.driver FOLDER`` streams the source into the sink.

``FOLDER/job.json`` says where from, where to and with which options. A query that fails is started again from its
checkpoint, with another number of partitions, and leaves its error in the log; the program ends with its stdin.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asyncsink_testing.chaos.programs import RESTARTED
from asyncsink_testing.chaos.source import COLUMNS

logger = logging.getLogger(__name__)


def main(folder: Path) -> None:
    from pyspark.errors import StreamingQueryException

    job = json.loads((folder / "job.json").read_text())
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    session, chosen = _session(job["settings"]), random.Random(job["seed"])
    while True:
        query = _started(session, folder, job, chosen.choice(job["partitions"]))
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            logger.warning("%s: %s", RESTARTED, str(error).partition("SQLSTATE")[0].strip()[-500:])


def _end_with_stdin() -> None:
    """The harness holds the other end: without it nothing here may go on. The JVM ends with this program."""
    sys.stdin.read()
    os._exit(1)


def _session(chosen: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # A JVM that lives for seconds has nothing of the second compiler.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": "512m",
        **chosen,
    }
    # Four tries for each task: a worker that is killed costs its task and not the query.
    return SparkSession.builder.master("local[2, 4]").config(map=settings).getOrCreate()


def _started(session: Any, folder: Path, job: dict[str, Any], partitions: int) -> Any:
    logger.warning("a query starts, with %d partitions", partitions)
    rows = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder / "source"))
    sent = rows.repartition(partitions).selectExpr(*job["columns"])
    writer = sent.writeStream.format(job["format"]).options(**job["options"])
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    main(Path(sys.argv[1]))
