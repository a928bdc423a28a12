"""Kills at every point of a two-phase commit, through real Spark: each row is visible once, and nothing staged is left.

A process comes to a point, says so and waits. Then the test kills: this process, the JVM, or all that a driver has
started. Attempts at batches are counted from 1, micro-batches from 0, so that attempt 2 is the first at micro-batch 1.

Ledgers lie in files of this machine and in S3. Queries that wait for the same death are run and killed together, as it
is the start of a JVM that takes time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from pathlib import Path

import pytest

from asyncsink_testing.chaos.processes import is_supported, kill, kill_driver, kill_session
from asyncsink_testing.s3_server import S3, serve

from .drivers import Driver, Drivers
from .points import Point, UnderWay, wait_for_the_end_of
from .queries import Query

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

ENTRY_POINTS = """\
[asyncsink]
stopping = asyncsink_stopping

[fsspec.specs]
held = held_files:HeldFiles
s3 = held_objects:HeldObjects
"""
BACK_ENDS = ("local", "s3")
WRITTEN_AGAIN, FINISHED = {1, 3, 4}, {1, 2, 4}
UNDER_WAY = "slot-2, under way"
HEARING = "before-slot-2, hearing that its daemon is gone"

KILLED = {
    "staged-1": WRITTEN_AGAIN,
    "before-slot-2": WRITTEN_AGAIN,
    "after-slot-2": FINISHED,
    "renamed-2": FINISHED,
    "before-done-2": FINISHED,
    "after-done-2": FINISHED,
}
"""Where all is killed, and by which attempts the rows are written that become visible."""

ZOMBIES = {"before-slot-2": WRITTEN_AGAIN, "renamed-2": FINISHED}
"""Likewise where a commit process outlives its JVM."""

Key = tuple[str, str]
MakeQuery = Callable[[str], Query]


@dataclass(frozen=True)
class Ended:
    """A query that was interrupted, and is over.

    :param failures: what it failed with since
    """

    query: Query
    failures: list[str]


@dataclass(frozen=True)
class Outlived(Ended):
    """Likewise.

    :param prepared: what was staged before something came back
    :param left: what was staged afterwards
    """

    prepared: list[Path]
    left: list[Path]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with serve() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the folders of all queries."""
    return tmp_path_factory.mktemp("queries")


@pytest.fixture(scope="module")
def make_query(queries: Path, s3: S3) -> MakeQuery:
    """Makes a query with its ledger in a back end."""
    ledgers, numbers = {"local": f"held:{queries}", "s3": s3.bucket()}, count(1)

    def make(back_end: str) -> Query:
        return Query(queries / f"query-{next(numbers)}", ledgers[back_end])

    return make


@pytest.fixture(scope="module")
def drivers(site: Path, s3: S3, queries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    folder = tmp_path_factory.mktemp("drivers")
    info = folder / "asyncsink_stopping-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: asyncsink-stopping\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    environ = {
        **os.environ,
        "QUERIES": str(queries),
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    drivers = Drivers(environ, folder)
    yield drivers
    drivers.end()


@pytest.mark.parametrize("name", ["write-1", "staged-1"])
def test_a_worker_that_is_killed_costs_its_task_alone(drivers: Drivers, make_query: MakeQuery, name: str) -> None:
    query = make_query("local")
    killed = query.point(name)
    with drivers.one() as driver:
        query.start(driver, 2)
        assert kill(killed.reached(driver))
        assert driver.failures(query.name) == []
    query.check({1, 2, 3})


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("name", ["after-slot-2", "renamed-2", "before-done-2"])
def test_a_commit_process_that_is_killed_after_the_decision_is_succeeded_by_a_planner(
    drivers: Drivers, make_query: MakeQuery, back_end: str, name: str
) -> None:
    """Spark asks another one to abort what was decided, which must do nothing."""
    query = make_query(back_end)
    killed = query.point(name)
    with drivers.one() as driver:
        query.start(driver, 2)
        assert kill(killed.reached(driver))
        assert len(driver.failures(query.name)) == 1
    query.check(FINISHED)
    assert query.asked("abort") == []


def test_a_store_that_does_not_hear_conditions_is_refused_before_the_first_row(
    drivers: Drivers, make_query: MakeQuery, s3: S3
) -> None:
    query = make_query("s3")
    s3.deaf = True
    try:
        with drivers.one() as driver:
            query.start(driver, 2)
            failures = driver.failures(query.name)
    finally:
        s3.deaf = False
    assert failures
    assert all("creates a file a second time" in each for each in failures)
    assert not (query.folder / "staged").exists()


@pytest.fixture(scope="module")
def killed(drivers: Drivers, make_query: MakeQuery, s3: S3) -> dict[Key, Ended]:
    """Queries that stood at a point each when all was killed, and that the next driver has brought to their end."""
    found = {(back_end, name): make_query(back_end) for name in KILLED for back_end in BACK_ENDS}
    points = {key: query.point(key[1]) for key, query in found.items()}
    late = make_query("s3")
    request = UnderWay(s3.hold("PUT", late.path_of("slot-2")))
    with drivers.two() as (driver, successor):
        bring_to(points, found, driver)
        late.start(driver, 2)
        request.reached(driver)
        assert kill_session(driver.pid)
        assert request.resume() == HTTPStatus.OK
        found["s3", UNDER_WAY] = late
        for query in found.values():
            query.start(successor, 3)
        return {key: Ended(query, successor.failures(query.name)) for key, query in found.items()}


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize(("name", "attempts"), KILLED.items())
def test_when_all_is_killed_the_next_driver_finishes_what_was_decided_and_writes_the_rest_again(
    killed: dict[Key, Ended], back_end: str, name: str, attempts: set[int]
) -> None:
    ended = killed[back_end, name]
    assert ended.failures == []
    ended.query.check(attempts)


def test_a_decision_that_arrives_when_all_is_killed_already_is_carried_out(killed: dict[Key, Ended]) -> None:
    ended = killed["s3", UNDER_WAY]
    assert ended.failures == []
    ended.query.check(FINISHED)


@pytest.fixture(scope="module")
def outlived(drivers: Drivers, make_query: MakeQuery, s3: S3) -> dict[Key, Outlived]:
    """Queries whose JVM was killed alone while they were committed, and that the next driver has brought to their end.

    What is left of them comes back when rows of a later attempt are prepared and not committed yet: these are not its
    to remove.
    """
    found = {(back_end, name): make_query(back_end) for name in (*ZOMBIES, HEARING) for back_end in BACK_ENDS}
    points = {key: query.point(key[1].partition(",")[0], deaf=key[1] != HEARING) for key, query in found.items()}
    late = make_query("s3")
    request = UnderWay(s3.hold("PUT", late.path_of("slot-2")))
    with drivers.two() as (driver, successor):
        processes = bring_to(points, found, driver)
        late.start(driver, 2)
        request.reached(driver)
        assert kill_driver(driver.pid)
        for key in [key for key in points if key[1] == HEARING]:
            wait_for_the_end_of(processes[key])
            del points[key]
        found["s3", UNDER_WAY] = late
        later = {key: query.point("before-slot-4") for key, query in found.items()}
        for query in found.values():
            query.start(successor, 3)
        for point in later.values():
            point.reached(successor)
        prepared = {key: query.staged() for key, query in found.items()}
        for key, point in points.items():
            point.resume()
            wait_for_the_end_of(processes[key])
        assert request.resume() == HTTPStatus.PRECONDITION_FAILED
        left = {key: query.staged() for key, query in found.items()}
        for point in later.values():
            point.resume()
        return {
            key: Outlived(query, successor.failures(query.name), prepared[key], left[key])
            for key, query in found.items()
        }


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_commit_process_ends_with_its_jvm_and_what_it_had_not_decided_is_written_again(
    outlived: dict[Key, Outlived], back_end: str
) -> None:
    ended = outlived[back_end, HEARING]
    assert ended.failures == []
    ended.query.check(WRITTEN_AGAIN)


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize(("name", "attempts"), ZOMBIES.items())
def test_a_commit_process_that_comes_back_after_its_successor_has_gone_on_changes_nothing(
    outlived: dict[Key, Outlived], back_end: str, name: str, attempts: set[int]
) -> None:
    ended = outlived[back_end, name]
    assert ended.left == ended.prepared != []
    assert ended.failures == []
    ended.query.check(attempts)


def test_a_decision_that_arrives_after_a_successor_has_gone_on_changes_nothing(outlived: dict[Key, Outlived]) -> None:
    ended = outlived["s3", UNDER_WAY]
    assert ended.left == ended.prepared != []
    assert ended.failures == []
    ended.query.check(WRITTEN_AGAIN)


def bring_to(points: Mapping[Key, Point], queries: Mapping[Key, Query], driver: Driver) -> dict[Key, int]:
    """Run queries until all are at their points; the ids of the processes there."""
    for query in queries.values():
        query.start(driver, 2)
    return {key: point.reached(driver) for key, point in points.items()}
