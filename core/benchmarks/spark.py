"""The Spark hooks on a connector that stores nothing, beside the least that PySpark's own writers can do, in turn.

``tox run -e bench-spark [-- --json FILE --rounds N]``. A figure of a busy machine must not fail a build: the exit
status is 0 whether or not a goal is met.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from spark_jobs import round_trips, spark_session, thousand_rows_per_s

from asyncsink_testing.bench import Comparison, arguments, compare, interleave, report
from asyncsink_testing.bench_streams import MicroBatches

MICRO_BATCHES = 30
ROWS = 12_000_000
TASKS = (1, 2)
"""Of Spark's two cores. One task leaves the second to Python; two keep both busy with what Spark does for each row, so
that whatever Python does beside reading is missing there.
"""
MOST_MS_ABOVE = 30.0
LEAST_SHARE_OF_ROWS = 0.9
MOST_ROUND_TRIPS = 3.0
MOST_COMMIT_MS_ABOVE = 30.0
"""What deciding and remembering may cost a micro-batch, beside what a destination takes for its commit."""

OURS, PEER = "asyncsink.noop", "idle"
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly once", "ours, at least once"
PEER_SHOWN = f"a Python sink that only reads, PySpark {pyspark.__version__}"


def compared(rounds: int) -> list[Comparison]:
    with TemporaryDirectory(prefix="asyncsink-bench-") as name, spark_session(Path(name)) as spark:
        stream = MicroBatches(spark, Path(name), MICRO_BATCHES)
        ms = interleave(
            {
                **{door: partial(stream.median_ms, door) for door in (OURS, PEER)},
                EXACTLY_ONCE: partial(stream.median_ms, OURS, commits="true"),
            },
            rounds,
        )
        rows = {
            tasks: interleave(
                {door: partial(thousand_rows_per_s, spark, door, ROWS, tasks) for door in (OURS, PEER)}, rounds
            )
            for tasks in TASKS
        }
        trips = round_trips(spark, Path(name), OURS, MICRO_BATCHES)
    per_batch = compare(
        "a micro-batch of ten rows", ms[OURS], PEER_SHOWN, ms[PEER], unit="ms", most_above=MOST_MS_ABOVE
    )
    per_commit = compare(
        "a micro-batch of ten rows, committed in two phases",
        ms[EXACTLY_ONCE],
        AT_LEAST_ONCE,
        ms[OURS],
        unit="ms",
        most_above=MOST_COMMIT_MS_ABOVE,
    )
    throughput = [
        compare(
            f"a batch job, values of 100 bytes, tasks at once: {tasks}",
            figures[OURS],
            PEER_SHOWN,
            figures[PEER],
            unit="thousand rows/s",
            goal=LEAST_SHARE_OF_ROWS,
            lower_is_better=False,
        )
        for tasks, figures in rows.items()
    ]
    # The peer keeps nothing. A count is the same in each round.
    slow = compare(
        "a micro-batch, checkpoint 50 ms away",
        [trips],
        PEER_SHOWN,
        [0.0],
        unit="round trips",
        most_above=MOST_ROUND_TRIPS,
    )
    return [per_batch, per_commit, *throughput, slow]


def main() -> None:
    options = arguments("time the Spark hooks beside PySpark's own writers", rounds=5)
    report(compared(options.rounds), options.json)


if __name__ == "__main__":
    main()
