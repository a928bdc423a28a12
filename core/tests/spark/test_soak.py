"""What stays the same while micro-batches come and go: connections, processes, threads, descriptors and memory."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from asyncsink.spark import ConnectorDataSource
from asyncsink_testing.chaos.processes import MODULES, Process, descendants, python_processes
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving

ROWS = 1000
"""In each micro-batch, in two partitions."""
ROW_BYTES = 500
IN_FLIGHT = 4
"""Requests of each of Spark's workers, and so its connections. One for each micro-batch would be far more."""
MOST_GROWTH = 4 * 2**20
"""Of a process's resident memory over 170 micro-batches: 25 kB each, a tenth of what each brings to each worker.

Whoever keeps batches, requests or bodies goes far beyond it; what an allocator takes and gives back stays below.
"""
PAUSE_S = 75
"""Spark ends Python workers that have had nothing to do for a minute; it looks every ten seconds."""
PLANNER, COMMITTER = MODULES["planner"], MODULES["commit process"]

Start = Callable[..., StreamingQuery]

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from Linux's /proc")


@dataclass(frozen=True)
class Held:
    """What one of Spark's Python processes holds."""

    role: str
    threads: int
    descriptors: int
    resident: int


class Stream:
    """A stream of files that come while it runs, one a micro-batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = self._files = 0
        folder.mkdir()

    def add(self, batches: int) -> None:
        """Add what so many micro-batches will hold."""
        for _ in range(batches):
            ids = range(self.rows, self.rows + ROWS)
            draft = self.folder / f".{self._files}"
            draft.write_text("".join(f'{{"id":{each},"text":"{"x" * ROW_BYTES}"}}\n' for each in ids))
            # Spark takes the oldest file first.
            os.utime(draft, (1_700_000_000 + self._files,) * 2)
            draft.rename(self.folder / f"{self._files:04}.txt")
            self.rows, self._files = ids.stop, self._files + 1


class Destination:
    """A server that counts what it stores of each row, and answers late enough for requests to be in flight together.

    It runs in the driver's Python process, which is none of those that are looked at.
    """

    def __init__(self) -> None:
        self.rows: Counter[int] = Counter()
        self.server: FaultyHttpServer

    @contextmanager
    def serving(self) -> Iterator[Self]:
        with serving(self._store, keep_bodies=False) as self.server:
            yield self

    def _store(self, request: HttpRequest) -> Reaction:
        self.rows.update(row["id"] for row in json.loads(request.body))
        return Reaction.OK.after(0.01)


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path / "files")


@pytest.fixture
def destination() -> Iterator[Destination]:
    with Destination().serving() as destination:
        yield destination


@pytest.fixture
def start(spark: SparkSession, stream: Stream, destination: Destination, tmp_path: Path) -> Iterator[Start]:
    """Starts a query that writes `stream` to `destination`, and ends it with the test."""
    queries: list[StreamingQuery] = []

    def start(door: str = "asyncsink.http", **trigger: Any) -> StreamingQuery:
        lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(stream.folder)).repartition(2)
        writer = lines.writeStream.format(door).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.options(url=destination.server.url, maxBatchSize=50, maxInFlightRequests=IN_FLIGHT)
        queries.append((writer.trigger(**trigger) if trigger else writer).start())
        return queries[-1]

    yield start
    for query in queries:
        query.stop()


def looked_at() -> dict[int, Held]:
    """Spark's Python processes by their ids: daemons, workers, the planner and the one that commits."""
    found = ((each.pid, look_at(each)) for each in descendants(os.getpid()) if each.is_daemon)
    return {pid: held for pid, held in found if held is not None}


def most_connections() -> int:
    """Spark keeps more workers than it has processors where a task began before the last one's worker was back."""
    return IN_FLIGHT * len(python_processes("worker", os.getpid()))


def look_at(process: Process) -> Held | None:
    """None for what has ended."""
    folder = Path(f"/proc/{process.pid}")
    with suppress(FileNotFoundError, ProcessLookupError):
        return Held(
            role=process.command[-1],
            threads=len(list((folder / "task").iterdir())),
            descriptors=len(list((folder / "fd").iterdir())),
            resident=int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        )
    return None


def assert_no_more_is_taken(
    stream: Stream, destination: Destination, start: Start, *, first: int, more: int, **trigger: Any
) -> tuple[dict[int, Held], dict[int, Held]]:
    """What the processes hold after so many micro-batches, and after so many more."""
    stream.add(first)
    query = start(**trigger)
    query.processAllAvailable()
    before = looked_at()
    stream.add(more)
    query.processAllAvailable()
    after = looked_at()
    assert destination.rows == Counter(range(stream.rows))
    assert destination.server.connections == destination.server.open_connections <= most_connections()
    assert_nothing_has_grown(before, after)
    return before, after


def assert_nothing_has_grown(before: dict[int, Held], after: dict[int, Held]) -> None:
    assert after.keys() <= before.keys()
    for pid, process in after.items():
        assert process.threads <= before[pid].threads, process.role
        # A worker opens a connection when it first has so many requests in flight, which may be late.
        assert process.descriptors <= before[pid].descriptors + IN_FLIGHT, process.role


@needs_proc
@pytest.mark.timeout(180)
def test_twenty_micro_batches_take_what_ten_have_taken(stream: Stream, destination: Destination, start: Start) -> None:
    assert_no_more_is_taken(stream, destination, start, first=10, more=10)


@pytest.mark.timeout(180)
def test_each_micro_batch_is_planned_once_with_one_look_into_the_ledger(
    stream: Stream, destination: Destination, start: Start, spark: SparkSession, tmp_path: Path
) -> None:
    log = tmp_path / "planned.log"
    spark.dataSource.register(counting_source(log, tmp_path / "checkpoint" / "asyncsink" / "http" / "state.json"))
    stream.add(5)
    start("counted", availableNow=True).awaitTermination()
    assert destination.rows == Counter(range(stream.rows))
    counts = Counter(log.read_text().splitlines())
    # Spark pickles each writer twice, and both copies are of one planning.
    assert (counts[f"{PLANNER} plans"], counts[f"{PLANNER} reads"]) == (5, 5)
    # Once more where the micro-batch is committed; that process remembers what it wrote last.
    assert (counts[f"{COMMITTER} plans"], counts[f"{COMMITTER} reads"]) == (5, 1)


def counting_source(log: Path, state: Path) -> type[ConnectorDataSource]:
    """The HTTP connector's door, which notes each planning, and each read of `state`, with the process it happens in.

    All of it stands within this function: Spark's processes get the class itself, for they cannot import this module.
    """

    def note(what: str) -> None:
        with log.open("a") as file:
            file.write(f"{sys.argv[-1]} {what}\n")

    def note_read(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]) == str(state) and not arguments[2] & os.O_ACCMODE:
            note("reads")

    class Counted(ConnectorDataSource):
        connector = "http"

        @classmethod
        def name(cls) -> str:
            return "counted"

        def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
            if str(log) not in os.environ:
                # Of each process once; what is opened is heard of without a change to who opens it.
                os.environ[str(log)] = "noted"
                sys.addaudithook(note_read)
            note("plans")
            return super().streamWriter(schema, overwrite)

    return Counted


@needs_proc
@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_two_hundred_micro_batches_at_one_second_take_what_thirty_have_taken(
    stream: Stream, destination: Destination, start: Start
) -> None:
    before, after = assert_no_more_is_taken(stream, destination, start, first=30, more=170, processingTime="1 second")
    for pid, process in after.items():
        assert process.resident - before[pid].resident <= MOST_GROWTH, process.role


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_after_a_pause_in_which_spark_ends_its_workers_everything_arrives(
    stream: Stream, destination: Destination, start: Start
) -> None:
    stream.add(10)
    query = start(processingTime="1 second")
    query.processAllAvailable()
    opened = destination.server.connections
    assert opened <= most_connections()
    time.sleep(PAUSE_S)
    stream.add(10)
    query.processAllAvailable()
    assert destination.rows == Counter(range(stream.rows))
    # New workers with connections of their own; those of the old ones ended with them.
    assert destination.server.connections == opened + destination.server.open_connections
    assert 0 < destination.server.open_connections <= most_connections()
