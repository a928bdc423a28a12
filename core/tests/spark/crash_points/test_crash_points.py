"""Kills at every point of a two-phase commit, through real Spark: each row is visible once, and nothing staged is left.

A process comes to a point, says so and waits. Then the test kills: this process, the JVM, or all that a driver has
started. Attempts at batches are counted from 1, micro-batches from 0, so that attempt 2 is the first at micro-batch 1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asyncsink_testing.chaos.processes import is_supported, kill, kill_driver, kill_session

from .drivers import Drivers
from .points import Point, wait_for_the_end_of

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

BATCHES, ROWS = 3, 8
ENTRY_POINTS = """\
[asyncsink]
stopping = asyncsink_stopping

[fsspec.specs]
held = asyncsink_stopping:HeldFiles
"""


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names the points at which somebody is to wait."""
    return tmp_path_factory.mktemp("points")


@pytest.fixture(scope="module")
def started(site: Path, points: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    folder = tmp_path_factory.mktemp("drivers")
    info = folder / "asyncsink_stopping-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: asyncsink-stopping\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    environ = {
        **os.environ,
        "POINTS": str(points),
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    drivers = Drivers(environ, folder)
    yield drivers
    drivers.end()


@pytest.fixture
def drivers(started: Drivers, points: Path) -> Iterator[Drivers]:
    yield started
    started.end_busy()
    for each in points.iterdir():
        each.unlink()


@pytest.fixture
def point(points: Path) -> Callable[..., Point]:
    def make(name: str, *, deaf: bool = False) -> Point:
        return Point(points, name, deaf=deaf)

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a query, with the rows of all its micro-batches."""
    (tmp_path / "lines").mkdir()
    for number in range(BATCHES):
        file = tmp_path / "lines" / f"{number}.txt"
        file.write_text("".join(f"{each}\n" for each in range(number * ROWS, (number + 1) * ROWS)))
        # Spark takes the oldest file first.
        os.utime(file, (1_700_000_000 + number,) * 2)
    return tmp_path


def staged(folder: Path) -> list[Path]:
    return sorted((folder / "staged").glob("*"))


def check(folder: Path, attempts: set[int]) -> None:
    """See that each row is visible once and nothing is left, and by which attempts the rows were written."""
    files = sorted((folder / "visible").glob("*"))
    rows = [json.loads(line)["id"] for path in files for line in path.read_text().splitlines()]
    assert sorted(rows) == [*range(BATCHES * ROWS)]
    assert {int(path.name.split("-")[1]) for path in files} == attempts
    assert staged(folder) == []


def asked(folder: Path, event: str) -> list[int]:
    """The processes in which a committer was asked for this."""
    lines = (folder / "events").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.split()[0] == event]


MakePoint = Callable[..., Point]
WRITTEN_AGAIN, FINISHED = {1, 3, 4}, {1, 2, 4}


@pytest.mark.parametrize("name", ["write-1", "staged-1"])
def test_a_worker_that_is_killed_costs_its_task_alone(
    drivers: Drivers, point: MakePoint, folder: Path, name: str
) -> None:
    killed, driver = point(name), drivers.one()
    driver.start(folder, 2)
    assert kill(killed.reached(driver))
    assert driver.failures() == []
    check(folder, {1, 2, 3})


@pytest.mark.parametrize("name", ["after-slot-2", "renamed-2", "before-done-2"])
def test_a_commit_process_that_is_killed_after_the_decision_is_succeeded_by_a_planner(
    drivers: Drivers, point: MakePoint, folder: Path, name: str
) -> None:
    """Spark asks another one to abort what was decided, which must do nothing."""
    killed, driver = point(name), drivers.one()
    driver.start(folder, 2)
    assert kill(killed.reached(driver))
    assert len(driver.failures()) == 1
    check(folder, FINISHED)
    assert asked(folder, "abort") == []


@pytest.mark.parametrize(
    ("name", "attempts"),
    [
        ("staged-1", WRITTEN_AGAIN),
        ("before-slot-2", WRITTEN_AGAIN),
        ("after-slot-2", FINISHED),
        ("renamed-2", FINISHED),
        ("before-done-2", FINISHED),
        ("after-done-2", FINISHED),
    ],
)
def test_when_all_is_killed_the_next_driver_finishes_what_was_decided_and_writes_the_rest_again(
    drivers: Drivers, point: MakePoint, folder: Path, name: str, attempts: set[int]
) -> None:
    killed, (driver, successor) = point(name), drivers.two()
    driver.start(folder, 2)
    killed.reached(driver)
    assert kill_session(driver.pid)
    successor.start(folder, 3)
    assert successor.failures() == []
    check(folder, attempts)


def test_a_commit_process_ends_with_its_jvm_and_what_it_had_not_decided_is_written_again(
    drivers: Drivers, point: MakePoint, folder: Path
) -> None:
    left, (driver, successor) = point("before-slot-2"), drivers.two()
    driver.start(folder, 3)
    committing = left.reached(driver)
    assert kill_driver(driver.pid)
    wait_for_the_end_of(committing)
    successor.start(folder, 2)
    assert successor.failures() == []
    check(folder, WRITTEN_AGAIN)


@pytest.mark.parametrize(("name", "attempts"), [("before-slot-2", WRITTEN_AGAIN), ("renamed-2", FINISHED)])
def test_a_commit_process_that_comes_back_after_its_successor_has_gone_on_changes_nothing(
    drivers: Drivers, point: MakePoint, folder: Path, name: str, attempts: set[int]
) -> None:
    """It comes back when rows of a later attempt are prepared and not committed yet: these are not its to remove."""
    left, (driver, successor) = point(name, deaf=True), drivers.two()
    driver.start(folder, 2)
    zombie = left.reached(driver)
    assert kill_driver(driver.pid)
    later = point("before-slot-4")
    successor.start(folder, 3)
    later.reached(successor)
    prepared = staged(folder)
    left.resume()
    wait_for_the_end_of(zombie)
    assert staged(folder) == prepared != []
    later.resume()
    assert successor.failures() == []
    check(folder, attempts)
