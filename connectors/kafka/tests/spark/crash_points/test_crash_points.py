"""Kills at every point of a transaction's life, through real Spark and a real broker: each row is read once.

Queries that wait for the same death are run and killed together, as it is the start of a JVM that takes time.
"""

from __future__ import annotations

from collections.abc import Set

import pytest

from asyncsink_testing.chaos.processes import is_supported, kill, kill_session
from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.queries import FINISHED, ROWS, WRITTEN_AGAIN, bring_to

from .queries import VALUES, Ended, MakeQuery

pytestmark = [
    pytest.mark.kafka_service,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

UNDISTURBED = frozenset({1, 2, 3})

ALONE = {
    "write-1": UNDISTURBED,
    "prepared-1": UNDISTURBED,
    "after-slot-2": FINISHED,
    "ended-2": FINISHED,
    "before-done-2": FINISHED,
}
"""Where one process is killed alone, a worker or the commit process, and which attempts are committed."""

COMMITTING = ["after-slot-2", "ended-2", "before-done-2"]

REFUSED = "before-slot-2"
"""Where an error is raised."""

KILLED = {
    "prepared-1": WRITTEN_AGAIN,
    "before-slot-2": WRITTEN_AGAIN,
    "after-slot-2": FINISHED,
    "ended-2": FINISHED,
    "before-done-2": FINISHED,
    "after-done-2": FINISHED,
}
"""Where all is killed, and which attempts are committed."""

TIMEOUT = "20s"
"""Of the transactions of queries that are started again, without it, when it is over."""

EXPIRED = ["after-slot-2", "ended-2"]


@pytest.fixture(scope="module")
def survived(drivers: Drivers, make_query: MakeQuery) -> dict[str, Ended]:
    """Queries of which one process was killed, or in which a call failed, and that Spark has gone on with."""
    found = {name: make_query() for name in ALONE}
    points = {name: query.point(name) for name, query in found.items()}
    failing = make_query()
    failing.fail_at(REFUSED)
    with drivers.one() as driver:
        for process in bring_to(points, found, driver).values():
            assert kill(process)
        found[REFUSED] = failing
        failing.start(driver, 2)
        return {name: Ended(query, driver.failures(query.name)) for name, query in found.items()}


@pytest.mark.parametrize("name", ["write-1", "prepared-1"])
def test_a_worker_that_is_killed_costs_its_task_alone(survived: dict[str, Ended], name: str) -> None:
    ended = survived[name]
    assert ended.failures == []
    ended.query.check(ALONE[name])


@pytest.mark.parametrize("name", COMMITTING)
def test_a_commit_process_that_is_killed_after_the_decision_is_succeeded_by_a_planner(
    survived: dict[str, Ended], name: str
) -> None:
    """Spark asks another one to abort what was decided, which must do nothing."""
    ended = survived[name]
    assert len(ended.failures) == 1
    ended.query.check(ALONE[name])
    assert ended.query.asked("abort") == []


def test_where_the_decision_cannot_be_made_what_was_prepared_is_aborted_and_written_again(
    survived: dict[str, Ended],
) -> None:
    ended = survived[REFUSED]
    (failure,) = ended.failures
    assert "the ledger cannot create 'slot-2'" in failure
    assert len(ended.query.asked("abort")) == 1
    ended.query.check(WRITTEN_AGAIN)


@pytest.fixture(scope="module")
def killed(drivers: Drivers, make_query: MakeQuery) -> dict[str, Ended]:
    """Queries that stood at a point each when all was killed, and that the next driver has brought to their end.

    Some of them only when their transactions have timed out.
    """
    found = {name: make_query() for name in KILLED}
    expired = {name: make_query() for name in EXPIRED}
    with drivers.two() as (driver, successor):
        bring_to({name: query.point(name) for name, query in found.items()}, found, driver)
        # The last ones, as the time of their transactions runs.
        points = {name: query.point(name) for name, query in expired.items()}
        bring_to(points, expired, driver, transactionTimeout=TIMEOUT)
        assert kill_session(driver.pid)
        for query in found.values():
            query.start(successor, 3)
        for query in expired.values():
            query.wait_until_none_is_open()
            query.start(successor, 3)
        found |= {f"{name}, expired": query for name, query in expired.items()}
        return {name: Ended(query, successor.failures(query.name)) for name, query in found.items()}


@pytest.mark.parametrize(("name", "attempts"), KILLED.items())
def test_when_all_is_killed_the_next_driver_finishes_what_was_decided_and_writes_the_rest_again(
    killed: dict[str, Ended], name: str, attempts: Set[int]
) -> None:
    ended = killed[name]
    assert ended.failures == []
    ended.query.check(attempts)


def test_what_was_decided_and_has_timed_out_as_a_whole_is_written_again(killed: dict[str, Ended]) -> None:
    ended = killed["after-slot-2, expired"]
    assert ended.failures == []
    ended.query.check(WRITTEN_AGAIN)


def test_what_has_timed_out_in_part_is_refused_with_what_to_do(killed: dict[str, Ended]) -> None:
    ended = killed["ended-2, expired"]
    query = ended.query
    assert ended.failures
    for failure in ended.failures:
        assert "the destination has lost 1 of 2 committables of batch 1 of 'stopping-kafka' ('asyncsink-" in failure
        assert "and the others are committed; to have the batch written again, with the rows of that part" in failure
        assert "remove slot-2 from held:" in failure
        assert f"{query.location}/transactions; to go on without the rows that are lost, create" in failure
    found = query.committed(ROWS + ROWS // 2)
    assert len(found) == len(set(found)) == ROWS + ROWS // 2
    assert set(found) < set(VALUES)
    query.wait_until_none_is_open(10.0)
