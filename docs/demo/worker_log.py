"""Spark's Python daemon with the log of asyncsink in use; the setting ``spark.python.daemon.module`` names it.

A sink runs in Spark's worker processes and logs what each task has done and learned. The daemon is where such a worker
gets its logging from; here the last statistics of each worker go to a file of its own.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict
from pathlib import Path

from asyncsink import WriterStatistics

FOLDER = "ASYNCSINK_DEMO_WORKERS"


class StatisticsHandler(logging.Handler):
    """Keeps the statistics in the last log record of this process that has some."""

    def __init__(self, folder: Path) -> None:
        super().__init__(logging.INFO)
        self._folder = folder

    def emit(self, record: logging.LogRecord) -> None:
        for value in record.args if isinstance(record.args, tuple) else ():
            if isinstance(value, WriterStatistics):
                draft = self._folder / f"worker-{os.getpid()}.draft"
                draft.write_text(json.dumps(asdict(value)))
                draft.replace(draft.with_suffix(".json"))


def learned_limit(folder: Path) -> int | None:
    """Rows that the rate limits of the workers let be in flight together, as of their last tasks; None before these."""
    limits = [json.loads(path.read_text())["max_batch_size"] for path in folder.glob("worker-*.json")]
    return sum(limits) if limits else None


if __name__ == "__main__":
    from pyspark.daemon import manager

    log = logging.getLogger("asyncsink")
    log.setLevel(logging.INFO)
    log.addHandler(StatisticsHandler(Path(os.environ[FOLDER])))
    manager()
