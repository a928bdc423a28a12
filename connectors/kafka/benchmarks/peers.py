"""Rows into a real Kafka broker: through Spark beside Spark's own sink, and without Spark beside two clients.

``tox run -e bench-kafka [-- --rows 500000 --cases keyed-100 --rounds 3 --json FILE]``. What each run has sent is held
against the end offsets of its topic, or against what is committed in it. Broker, Spark and Python share the machine. A
figure of a busy machine must not fail a build: the exit status is 0 whether or not a goal is met.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import producers
import pyspark
from micro_batches import micro_batches
from spark_sinks import EXACTLY_ONCE, OURS, OURS_TUNED, SHIPPED, SINKS, TUNED, Load, sends, spark_session
from topics import Topics

from asyncsink_testing.bench import Comparison, compare, interleave, report
from asyncsink_testing.bench_rows import Recorded, tell
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.processor_time import keep_orphans, tree

ROUNDS = 7
ROWS = (200_000, 500_000, 4_000_000)
LOADS = {"keyed-100": (100, True), "plain-100": (100, False), "keyed-1000": (1000, True), "plain-1000": (1000, False)}
PAIRS = ((OURS, SHIPPED), (OURS, TUNED), (OURS_TUNED, SHIPPED), (OURS_TUNED, TUNED))
OF_EXACTLY_ONCE = (EXACTLY_ONCE, OURS)
WITHOUT_SPARK, MICRO_BATCHES = "producers", "micro-batches"
SIZES = (100, 1000)
WARM_UP_ROWS = 1_000_000
"""Of each kind through each sink before any round: a JVM compiles for half a minute what it runs again and again, and
Spark makes code of its own for each kind."""
LEAST_PROCESSOR_RATIO = 1.0
LEAST_SPEED_RATIO = {500_000: 1.3, 4_000_000: 1.0}
"""By rows; of few there is no goal but for the processor's time."""
LEAST_SHARE_OF_AT_LEAST_ONCE = {4_000_000: 0.9}
"""By rows, in rows a second."""


def through_spark(topics: Topics, loads: Sequence[Load], rounds: int, broker: int | None) -> Iterator[Comparison]:
    """Each load through each sink in turn.

    :param broker: the process whose time does not count; that of Spark's JVM, its Python processes and this one does
    """
    keep_orphans()
    processes = partial(tree, os.getpid(), broker)
    with spark_session() as spark:
        for kind in dict.fromkeys(replace(load, rows=WARM_UP_ROWS) for load in loads):
            for sink in SINKS:
                sends(spark, topics, kind, sink, processes)()
        largest = max(load.rows for load in loads)
        for load in loads:
            # Of few rows most of the time is Spark's own: what transactions cost shows with many.
            sinks = [sink for sink in SINKS if sink != EXACTLY_ONCE or load.rows == largest]
            runs = {sink: Recorded(sends(spark, topics, load, sink, processes)) for sink in sinks}
            interleave(runs, rounds)
            speeds = {sink: run.speeds(load.rows) for sink, run in runs.items()}
            costs = {sink: run.costs(load.rows) for sink, run in runs.items()}
            for sink in sinks:
                tell(f"{load}: {sink}", speeds[sink], costs[sink])
            for ours, peer in (*PAIRS, *([OF_EXACTLY_ONCE] if EXACTLY_ONCE in sinks else [])):
                yield from beside(load, ours, peer, (speeds[ours], speeds[peer]), (costs[ours], costs[peer]))


def beside(
    load: Load,
    ours: str,
    peer: str,
    speeds: tuple[Sequence[float], Sequence[float]],
    costs: tuple[Sequence[float], Sequence[float]],
) -> Iterator[Comparison]:
    """Ours and the peer's figures; of what is tuned there is no goal."""
    shown = peer if peer == OURS else f"{peer}, PySpark {pyspark.__version__}"
    least_processor_ratio, least_speed_ratio = goals(load, ours, peer)
    yield compare(
        f"processor time, {ours}, {load}",
        costs[0],
        shown,
        costs[1],
        unit="ns/row",
        goal=least_processor_ratio,
    )
    yield compare(
        f"speed, {ours}, {load}",
        speeds[0],
        shown,
        speeds[1],
        unit="thousand rows/s",
        goal=least_speed_ratio,
        lower_is_better=False,
    )


def goals(load: Load, ours: str, peer: str) -> tuple[float | None, float | None]:
    """The least ratio of the processor's time, and of the speed."""
    if (ours, peer) == (OURS, SHIPPED):
        return LEAST_PROCESSOR_RATIO, LEAST_SPEED_RATIO.get(load.rows)
    if (ours, peer) == OF_EXACTLY_ONCE:
        return None, LEAST_SHARE_OF_AT_LEAST_ONCE.get(load.rows)
    return None, None


def without_spark(topics: Topics, rounds: int) -> Iterator[Comparison]:
    """Our writer beside clients that are given one record at a time, in one process each time."""
    for size in SIZES:
        runs = {OURS: Recorded(producers.sends(topics, producers.our_writer, size, producers.OUR_BATCHES))}
        counts = {OURS: producers.OUR_BATCHES * producers.BATCH_ROWS}
        for name, (feed, batches, _) in producers.PEERS.items():
            runs[name] = Recorded(producers.sends(topics, feed, size, batches))
            counts[name] = batches * producers.BATCH_ROWS
        interleave(runs, rounds)
        speeds = {name: run.speeds(counts[name]) for name, run in runs.items()}
        work = f"without Spark, values of {size} bytes, keys"
        for name, run in runs.items():
            tell(f"{work}: {name}", speeds[name], run.costs(counts[name]))
        for name, (_, _, goal) in producers.PEERS.items():
            shown = f"{name} {version(name.split()[0])}"
            yield compare(
                work, speeds[OURS], shown, speeds[name], unit="thousand rows/s", goal=goal, lower_is_better=False
            )


def main() -> None:
    options = parse()
    loads = [Load(rows, *LOADS[case]) for case in options.cases if case in LOADS for rows in options.rows]
    comparisons: list[Comparison] = []
    with KafkaBroker(jvm_options=["-Xmx1g", "-Xms1g"]) as broker:
        topics = Topics(broker.bootstrap)
        try:
            if WITHOUT_SPARK in options.cases:
                comparisons += without_spark(topics, options.rounds)
            if MICRO_BATCHES in options.cases:
                comparisons += micro_batches(topics, options.rounds)
            if loads:
                comparisons += through_spark(topics, loads, options.rounds, broker.pid())
        except BaseException:
            print(f"the broker's log ends with:\n{broker.log()[-3000:]}", file=sys.stderr)
            raise
    report(comparisons, options.json)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="time rows into Kafka beside Spark's own sink and other clients")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON list")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="counted rounds after one that warms up")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="of each job of Spark's")
    cases = [*LOADS, WITHOUT_SPARK, MICRO_BATCHES]
    parser.add_argument("--cases", nargs="+", choices=cases, default=cases, metavar="CASE", help=", ".join(cases))
    return parser.parse_args()


if __name__ == "__main__":
    main()
