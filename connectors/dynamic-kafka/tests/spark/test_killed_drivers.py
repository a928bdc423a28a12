"""A driver is killed with all its workers while a batch is prepared in two clusters, one of which is removed then."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path
from time import monotonic, sleep

import anyio
import pytest

from asyncsink_kafka import KafkaSink
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_testing.chaos.processes import is_supported, kill_session
from asyncsink_testing.crash_points import queries
from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.installing import environment
from asyncsink_testing.crash_points.queries import BATCHES, FINISHED, ROWS, WRITTEN_AGAIN, Ended, bring_to

from .streams import Clusters, Stream

pytestmark = [
    pytest.mark.kafka_service,
    pytest.mark.nightly,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_supported(), reason="which processes are Spark's is read from Linux's /proc"),
]

VALUES = sorted(b"%d" % number for number in range(BATCHES * ROWS))

KILLED = {"before-slot-2": WRITTEN_AGAIN, "after-slot-2": FINISHED}
"""Where all is killed: when the second batch is prepared, and when that is decided; which attempts are committed."""


class Query(queries.Query):
    """A query to a stream of its name, with its ledger on a disk."""

    def __init__(self, folder: Path, clusters: Clusters) -> None:
        metadata = folder.with_name(f"{folder.name}-metadata")
        metadata.mkdir()
        self.stream = Stream(clusters, metadata, folder.name)
        options = {"sink": "dynamic_kafka", **self.stream.options, "deliveryGuarantee": "exactly-once"}
        super().__init__(folder, f"held:{folder.parent}", ["value"], options)

    @property
    def committed(self) -> Set[int]:
        """The attempts that are."""
        done = (self.folder / "ledger").glob("asyncsink/*/transactions/done-*")
        return {int(each.name.removeprefix("done-")) for each in done}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the folders of all queries."""
    return tmp_path_factory.mktemp("queries")


@pytest.fixture(scope="module")
def drivers(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    ledgers = {"held": "asyncsink_testing.crash_points.held_files:HeldFiles"}
    logs = tmp_path_factory.mktemp("drivers")
    drivers = Drivers(environment(logs, folder, {}, ledgers), logs)
    yield drivers
    drivers.end()


@pytest.fixture(scope="module")
def killed(drivers: Drivers, brokers: Clusters, folder: Path) -> dict[str, Ended[Query]]:
    """Queries that stood at a point each when all was killed; the next driver finds their streams in B alone."""
    found = {name: Query(folder / f"killed-{name}", brokers) for name in KILLED}
    with drivers.two() as (driver, successor):
        bring_to({name: query.point(name) for name, query in found.items()}, found, driver)
        assert all(open_transactions(each.bootstrap) for each in brokers.values())
        assert kill_session(driver.pid)
        for query in found.values():
            query.stream.is_in("B")
            query.start(successor, 3)
        return {name: Ended(query, successor.failures(query.name)) for name, query in found.items()}


def open_transactions(bootstrap: str) -> list[str]:
    """The ids of all that are open in a cluster."""
    sink = KafkaSink(bootstrap_servers=bootstrap, topic="any", delivery_guarantee="exactly-once")

    async def ask() -> list[str]:
        async with coordinators_of(sink.options, sink.config) as coordinators:
            return await coordinators.open_with(f"{sink.options.transaction_prefix}-")

    return anyio.run(ask)


@pytest.mark.parametrize(("name", "attempts"), KILLED.items())
def test_the_next_driver_commits_what_was_decided_in_both_and_writes_the_rest_to_those_that_are_left(
    killed: dict[str, Ended[Query]], brokers: Clusters, name: str, attempts: Set[int]
) -> None:
    ended = killed[name]
    assert ended.failures == []
    assert ended.query.committed == attempts
    stored = ended.query.stream.stored(len(VALUES))
    assert sorted(value for values in stored.values() for value in values) == VALUES
    assert len(stored["A"]) == (ROWS if name == "after-slot-2" else ROWS // 2)
    deadline_s = monotonic() + 10.0
    while left := open_transactions(brokers["B"].bootstrap):
        assert monotonic() < deadline_s, f"{left} are open"
        sleep(0.1)
