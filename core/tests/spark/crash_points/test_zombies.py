"""What comes back after a successor has gone on: commit processes that outlive their JVM, and requests under way.

And stores that would not hold against them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import pytest

from asyncsink_testing.chaos.processes import is_supported, kill_driver
from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.points import wait_for_the_end_of
from asyncsink_testing.crash_points.queries import FINISHED, WRITTEN_AGAIN, bring_to
from asyncsink_testing.s3_server import S3

from .points import UnderWay
from .queries import BACK_ENDS, UNDER_WAY, Ended, Key, MakeQuery

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

ZOMBIES = {"before-slot-2": WRITTEN_AGAIN, "renamed-2": FINISHED}
"""Where a commit process outlives its JVM, and by which attempts the rows are written that become visible."""

HEARING = "before-slot-2, hearing that its daemon is gone"


@dataclass(frozen=True)
class Outlived(Ended):
    """Likewise, with something left of it.

    :param prepared: what was staged before something came back
    :param left: what was staged afterwards
    """

    prepared: list[Path]
    left: list[Path]


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
    outlived: dict[Key, Outlived], back_end: str, name: str, attempts: Set[int]
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
