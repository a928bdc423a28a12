"""Processes that outlive their JVM: those that hear of it, and those that come back after a successor has gone on."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import pytest

from asyncsink_testing.chaos.processes import is_supported, kill_driver
from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.points import wait_for_the_end_of
from asyncsink_testing.crash_points.queries import FINISHED, WRITTEN_AGAIN, bring_to

from .queries import Ended, MakeQuery

pytestmark = [
    pytest.mark.kafka_service,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

HEARING = {"write-1": WRITTEN_AGAIN, "before-slot-2": WRITTEN_AGAIN, "after-slot-2": FINISHED}
"""Where a worker or a commit process is when its JVM is killed and it hears of it; which attempts are committed."""

ZOMBIES = {"before-slot-2": WRITTEN_AGAIN, "ended-2": FINISHED}
"""Where a commit process outlives its JVM, and which attempts are committed."""

Key = tuple[str, bool]
"""Where a process was, and whether it did not hear of its JVM's end."""


@dataclass(frozen=True)
class Outlived(Ended):
    """Likewise, with something left of it.

    :param prepared: transactions of the successor before a process came back
    :param left: those that were there afterwards
    """

    prepared: list[str]
    left: list[str]


@pytest.fixture(scope="module")
def outlived(drivers: Drivers, make_query: MakeQuery) -> dict[Key, Outlived]:
    """Queries whose JVM was killed alone, and that the next driver has brought to their end.

    What is left of them comes back when transactions of a later attempt are prepared and not committed yet: these are
    not its to end.
    """
    found = {(name, deaf): make_query() for deaf, names in ((False, HEARING), (True, ZOMBIES)) for name in names}
    points = {(name, deaf): query.point(name, deaf=deaf) for (name, deaf), query in found.items()}
    with drivers.two() as (driver, successor):
        processes = bring_to(points, found, driver)
        assert kill_driver(driver.pid)
        for name in HEARING:
            wait_for_the_end_of(processes[name, False])
        later = {key: query.point("before-slot-4") for key, query in found.items()}
        bring_to(later, found, successor)
        prepared = {key: query.open() for key, query in found.items()}
        for name in ZOMBIES:
            points[name, True].resume()
            wait_for_the_end_of(processes[name, True])
        left = {key: query.open() for key, query in found.items()}
        for point in later.values():
            point.resume()
        return {
            key: Outlived(query, successor.failures(query.name), prepared[key], left[key])
            for key, query in found.items()
        }


@pytest.mark.parametrize(("name", "attempts"), HEARING.items())
def test_processes_end_with_their_jvm_and_what_they_had_not_decided_is_written_again(
    outlived: dict[Key, Outlived], name: str, attempts: Set[int]
) -> None:
    ended = outlived[name, False]
    assert ended.failures == []
    ended.query.check(attempts)


@pytest.mark.parametrize(("name", "attempts"), ZOMBIES.items())
def test_a_commit_process_that_comes_back_after_its_successor_has_gone_on_changes_nothing(
    outlived: dict[Key, Outlived], name: str, attempts: Set[int]
) -> None:
    ended = outlived[name, True]
    assert ended.left == ended.prepared != []
    assert ended.failures == []
    ended.query.check(attempts)
