"""Kills at every point of a two-phase commit, through real Spark: each row is visible once, and nothing staged is left.

A process comes to a point, says so and waits. Then the test kills: this process, the JVM, or all that a driver has
started. Attempts at batches are counted from 1, micro-batches from 0, so that attempt 2 is the first at micro-batch 1.

Ledgers lie in files of this machine and in S3. Queries that wait for the same death are run and killed together, as it
is the start of a JVM that takes time.
"""

from __future__ import annotations

from collections.abc import Set
from http import HTTPStatus

import pytest

from asyncsink_testing.chaos.processes import is_supported, kill, kill_session
from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.queries import FINISHED, WRITTEN_AGAIN, bring_to
from asyncsink_testing.s3_server import S3

from .points import UnderWay
from .queries import BACK_ENDS, UNDER_WAY, Ended, Key, MakeQuery

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

KILLED = {
    "staged-1": WRITTEN_AGAIN,
    "before-slot-2": WRITTEN_AGAIN,
    "after-slot-2": FINISHED,
    "renamed-2": FINISHED,
    "before-done-2": FINISHED,
    "after-done-2": FINISHED,
}
"""Where all is killed, and by which attempts the rows are written that become visible."""


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
    killed: dict[Key, Ended], back_end: str, name: str, attempts: Set[int]
) -> None:
    ended = killed[back_end, name]
    assert ended.failures == []
    ended.query.check(attempts)


def test_a_decision_that_arrives_when_all_is_killed_already_is_carried_out(killed: dict[Key, Ended]) -> None:
    ended = killed["s3", UNDER_WAY]
    assert ended.failures == []
    ended.query.check(FINISHED)
