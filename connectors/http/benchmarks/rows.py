"""Rows from Spark into a stub of an HTTP API: through our sink, and beside the loops that users write.

``tox run -e bench-http [-- --cases spark-500 --rounds 3 --rows 200000 --json FILE]``. The stub takes every row, and
what each run has sent is held against what came; it answers after ``--delay-ms``, as an API does that is not on the
same machine. A case whose name ends in ``-at-once`` is answered without delay, and has no goal. Stub, Spark and Python
share the machine. A figure of a busy machine must not fail a build: the exit status is 0 whether or not a goal is met.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from http_jobs import AIOHTTP, HTTPX, IN_FLIGHT, JOBS, OURS, REQUESTS, frame, job, spark_session
from http_stub import SCRIPT
from pyspark.sql import SparkSession

from asyncsink_testing.bench import Comparison, compare, interleave, report
from asyncsink_testing.bench_rows import Recorded, tell
from asyncsink_testing.bench_stub import Stub, running_stub

ROUNDS = 3
DELAY_MS = 10
"""What a near API takes to store what it is sent; the longer it takes, the more is won by requests at once."""
ROWS = {1: 5_000, 50: 150_000, 500: 1_000_000}
"""Of each run, by the rows of a request; a job of Spark's costs more than a second whatever it sends."""
CASES = {
    f"spark-{request_rows}{ending}": (request_rows, is_delayed)
    for ending, is_delayed in (("", True), ("-at-once", False))
    for request_rows in ROWS
}
GOALS: Mapping[str, float] = {REQUESTS: 5.0, HTTPX: 1.5}
"""How many times as many rows ours sends in the same time, where answers have a delay."""
PACKAGES = {AIOHTTP: "aiohttp", REQUESTS: "requests", HTTPX: "httpx"}


def compared(
    spark: SparkSession, stub: Stub, request_rows: int, delay_ms: int, rows: int, rounds: int
) -> Iterator[Comparison]:
    """Ours beside each of the others: rows a second, and processor time a row."""
    work = f"{request_rows} rows a request, answered after {delay_ms} ms"
    sent = frame(spark, rows)
    recorded = {name: Recorded(job(stub, sent, rows, name, request_rows, delay_ms)) for name in JOBS}
    interleave(recorded, rounds)
    speeds = {name: run.speeds(rows) for name, run in recorded.items()}
    costs = {name: run.costs(rows) for name, run in recorded.items()}
    for name in JOBS:
        tell(f"{work}: {name}", speeds[name], costs[name])
    for name in [name for name in JOBS if name != OURS]:
        peer, goal = f"{name}, {PACKAGES[name]} {version(PACKAGES[name])}", GOALS.get(name) if delay_ms else None
        yield compare(
            f"speed, {work}",
            speeds[OURS],
            peer,
            speeds[name],
            unit="thousand rows/s",
            goal=goal,
            lower_is_better=False,
        )
        yield compare(f"processor time, {work}", costs[OURS], peer, costs[name], unit="ns/row")


def main() -> None:
    options = parse()
    comparisons: list[Comparison] = []
    with running_stub(SCRIPT) as stub, spark_session() as spark:
        for request_rows, is_delayed in (CASES[name] for name in options.cases):
            rows, delay_ms = options.rows or ROWS[request_rows], options.delay_ms if is_delayed else 0
            comparisons += compared(spark, stub, request_rows, delay_ms, rows, options.rounds)
    report(comparisons, options.json)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=f"time rows from Spark into a stub of an HTTP API, {IN_FLIGHT} requests of a task in flight, "
        "beside requests and httpx"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON list")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="counted rounds after one that warms up")
    parser.add_argument("--rows", type=int, help=f"of each run; by default, by the rows of a request, {ROWS}")
    parser.add_argument("--delay-ms", type=int, default=DELAY_MS, help="after which a request is answered")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    return parser.parse_args()


if __name__ == "__main__":
    main()
