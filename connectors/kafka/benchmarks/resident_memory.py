"""Rows into brokers that are slower than the writer, as columns and one by one: how much memory they take.

``python connectors/kafka/benchmarks/resident_memory.py [--megabytes N] [--json FILE]``. The brokers are librdkafka's
mock cluster, in a process of its own, which takes 50 ms for each answer. Each case has a process of its own too. Memory
is no timing, so a miss is exit status 1: the peak may be as far above what the process had before as the writer's bound
on bytes, plus 100 MB for all else: the request under way, which the connection holds once more, and what is being
encoded.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from asyncsink_kafka.writer import KafkaWriter

# What is heavy is imported by the processes of the cases alone: the peak of a process counts that of its parent.

MB = 1_000_000
ALLOWANCE = 100 * MB
MEGABYTES = 500
BATCH = 1 * MB
"""Bytes of the values that are written at a time."""
PARTITIONS = 4
ROUND_TRIP_MS = 50

Write = Callable[["KafkaWriter", int, int], Awaitable[None]]
"""Writes rows with values of so many bytes; the last number is that of the batch."""


async def as_columns(writer: KafkaWriter, size: int, number: int) -> None:
    """Rows in memory of their own, as Spark's are: a writer that kept what it has delivered would be found out."""
    import pyarrow as pa

    rows = BATCH // size
    value = pa.array([b"%0*d" % (size, number)], pa.binary())
    keys = pa.array([b"%08d" % row for row in range(rows)], pa.binary())
    await writer.write_batch(pa.record_batch({"key": keys, "value": pa.concat_arrays([value] * rows)}))


async def one_by_one(writer: KafkaWriter, size: int, number: int) -> None:
    from asyncsink_kafka import KafkaRecord

    for row in range(BATCH // size):
        await writer.write(KafkaRecord(key=b"%08d" % row, value=b"%0*d" % (size, number)))


class Case(NamedTuple):
    write: Write
    size: int


CASES: Mapping[str, Case] = {
    "100 B as columns": Case(as_columns, 100),
    "10 kB as columns": Case(as_columns, 10_000),
    "100 B one by one": Case(one_by_one, 100),
    "10 kB one by one": Case(one_by_one, 10_000),
}


class Figures(NamedTuple):
    """Bytes: the writer's bound, the most that it held, and the peak of the process before and after."""

    bound: int
    held: int
    before: int
    peak: int

    @property
    def grown(self) -> int:
        return self.peak - self.before

    @property
    def met(self) -> bool:
        return self.grown <= self.bound + ALLOWANCE


def peak() -> int:
    """The most memory the process has ever had resident, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(case: Case, megabytes: int) -> Figures:
    """Write so much into slow brokers.

    :raises RuntimeError: they were too quick for the writer to be full
    """
    import anyio

    from asyncsink_testing.kafka import MockCluster

    with MockCluster(topics={"rows": PARTITIONS}) as cluster:
        cluster.delay_answers(1, ROUND_TRIP_MS)
        return anyio.run(_write, case, megabytes, cluster.bootstrap)


async def _write(case: Case, megabytes: int, bootstrap: str) -> Figures:
    from asyncsink_kafka import KafkaSink

    sink = KafkaSink(bootstrap_servers=bootstrap, topic="rows")
    bound, held = sink.config.max_buffered_size_in_bytes, 0
    async with sink.open() as writer:
        await case.write(writer, case.size, 0)
        await writer.flush()
        before = peak()
        for number in range(1, megabytes * MB // BATCH):
            await case.write(writer, case.size, number)
            held = max(held, writer.statistics().size_in_bytes)
        await writer.flush()
        assert writer.statistics().acknowledged == megabytes * MB // case.size
    if held < bound * 0.9:
        raise RuntimeError(f"the writer held {held / MB:.1f} of {bound / MB:.1f} MB at most: it was never full")
    return Figures(bound, held, before, peak())


def in_a_process(name: str, megabytes: int) -> Figures:
    command = [sys.executable, __file__, "--case", name, "--megabytes", str(megabytes)]
    return Figures(*json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


def tell(name: str, megabytes: int, took: Figures) -> None:
    print(
        f"{megabytes} MB, rows of {name}: the writer held at most {took.held / MB:.1f} of {took.bound / MB:.1f} MB, "
        f"the process grew by {took.grown / MB:.1f} MB to {took.peak / MB:.1f} MB; "
        f"{(took.bound + ALLOWANCE) / MB:.1f} MB are allowed: goal {'met' if took.met else 'MISSED'}",
        flush=True,
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="measure the memory that the Kafka writer takes under slow brokers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON object")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES, help="how much to write in each case")
    parser.add_argument("--case", choices=CASES, help="run this one here, and print its figures alone")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.case is not None:
        print(json.dumps(measure(CASES[options.case], options.megabytes)))
        return 0
    took = {name: in_a_process(name, options.megabytes) for name in CASES}
    for name, each in took.items():
        tell(name, options.megabytes, each)
    if options.json is not None:
        told: dict[str, Any] = {name: {**each._asdict(), "met": each.met} for name, each in took.items()}
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    return 0 if all(each.met for each in took.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
