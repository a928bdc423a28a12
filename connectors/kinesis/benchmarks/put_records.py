"""Rows into a stub of Kinesis: from Arrow and through Spark, beside boto3, aiobotocore and the JVM.

``tox run -e bench-aws [-- --cases arrow-100 --rounds 3 --rows 200000 --json FILE]``. The stub takes every record; what
each run has sent is held against what came. Stub, Spark and Python share the machine. A figure of a busy machine must
not fail a build: the exit status is 0 whether or not a goal is met.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from kinesis_clients import AIOBOTOCORE, BATCH_ROWS, BOTO3, IN_FLIGHT, OURS, SENDERS, sends
from kinesis_stub import SCRIPT

from asyncsink_testing.bench import Comparison, compare, interleave, report
from asyncsink_testing.bench_rows import Recorded, Took, tell
from asyncsink_testing.bench_stub import Stub, running_stub

ROUNDS = 7
ROWS = {"arrow": 500_000, "spark": 2_000_000}
"""Of each run; a job of Spark's costs more than a second of processor time whatever it sends."""
CASES = {f"{door}-{size}": (door, size) for door in ("arrow", "spark") for size in (100, 1000)}
GOALS: Mapping[str, Mapping[int, float]] = {BOTO3: {100: 5.0, 1000: 5.0}, AIOBOTOCORE: {100: 5.0, 1000: 3.0}}
"""How many times as much ours does in the same time, and with the same processor time, by the bytes of a row."""
PACKAGES = {BOTO3: "boto3", AIOBOTOCORE: "aiobotocore"}

Runs = Mapping[str, Callable[[], Took]]


def from_arrow(stub: Stub, size: int, rows: int, rounds: int) -> Iterator[Comparison]:
    """Clients in this process, each fed with batches, and those in a JVM, whose rows are ready."""
    from kinesis_jvm import running_peers

    batches = max(1, rows // BATCH_ROWS)
    with running_peers(stub, size, batches, lambda text: print(text, flush=True)) as peers:
        runs = {name: sends(stub, send, size, batches) for name, send in SENDERS.items()}
        yield from compared(f"from Arrow, {size} B", {**runs, **peers}, size, batches * BATCH_ROWS, rounds)


def through_spark(stub: Stub, size: int, rows: int, rounds: int) -> Iterator[Comparison]:
    """Jobs of one Spark, whose JVM and workers count."""
    from kinesis_jobs import JOBS, frame, job, spark_session

    with spark_session() as spark:
        sent = frame(spark, rows, size)
        runs = {name: job(stub, sent, rows, name) for name in JOBS}
        yield from compared(f"through Spark, {size} B", runs, size, rows, rounds)


def compared(work: str, runs: Runs, size: int, rows: int, rounds: int) -> Iterator[Comparison]:
    """Ours beside each of the others: rows a second, and processor time a row."""
    recorded = {name: Recorded(run) for name, run in runs.items()}
    interleave(recorded, rounds)
    speeds = {name: run.speeds(rows) for name, run in recorded.items()}
    costs = {name: run.costs(rows) for name, run in recorded.items()}
    for name in runs:
        tell(f"{work}: {name}", speeds[name], costs[name])
    for name in [name for name in runs if name != OURS]:
        peer, goal = shown(name), GOALS.get(name, {}).get(size)
        yield compare(
            f"speed, {work}",
            speeds[OURS],
            peer,
            speeds[name],
            unit="thousand rows/s",
            goal=goal,
            lower_is_better=False,
        )
        yield compare(f"processor time, {work}", costs[OURS], peer, costs[name], unit="ns/row", goal=goal)


def shown(name: str) -> str:
    package = PACKAGES.get(name)
    return name if package is None else f"{name}, {package} {version(package)}"


DOORS = {"arrow": from_arrow, "spark": through_spark}


def main() -> None:
    options = parse()
    comparisons: list[Comparison] = []
    with running_stub(SCRIPT) as stub:
        for door, size in (CASES[name] for name in options.cases):
            comparisons += DOORS[door](stub, size, options.rows or ROWS[door], options.rounds)
    report(comparisons, options.json)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=f"time rows into a stub of Kinesis, {IN_FLIGHT} requests in flight, beside boto3 and aiobotocore"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON list")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="counted rounds after one that warms up")
    parser.add_argument("--rows", type=int, help=f"of each run; by default {ROWS}")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    return parser.parse_args()


if __name__ == "__main__":
    main()
