from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.installing import environment
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .queries import MakeQuery, Query

SITE = Path(__file__).with_name("site")
CONNECTORS = {"stopping-kafka": "asyncsink_stopping_kafka"}
LEDGERS = {"held": "asyncsink_testing.crash_points.held_files:HeldFiles"}

PROPERTIES = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # It lives as long as the tests do; on a busy machine a controller would else take it for dead.
    "broker.session.timeout.ms": "60000",
}


@pytest.fixture(scope="session")
def broker() -> Iterator[KafkaBroker]:
    with skipped_without_kafka(), KafkaBroker(properties=PROPERTIES) as broker:
        yield broker


@pytest.fixture(scope="session")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the folders of all queries."""
    return tmp_path_factory.mktemp("queries")


@pytest.fixture(scope="session")
def make_query(queries: Path, broker: KafkaBroker) -> MakeQuery:
    numbers = count(1)

    def make() -> Query:
        return Query(queries / f"query-{next(numbers)}", broker)

    return make


@pytest.fixture(scope="session")
def drivers(queries: Path, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    folder = tmp_path_factory.mktemp("drivers")
    environ = environment(folder, queries, CONNECTORS, LEDGERS)
    environ["PYTHONPATH"] = os.pathsep.join([str(SITE), environ["PYTHONPATH"]])
    drivers = Drivers(environ, folder)
    yield drivers
    drivers.end()
