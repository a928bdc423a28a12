from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from asyncsink_testing.crash_points.drivers import Drivers
from asyncsink_testing.crash_points.installing import environment
from asyncsink_testing.s3_server import S3, serve

from .queries import MakeQuery, Query

CONNECTORS = {"stopping": "asyncsink_stopping"}
LEDGERS = {"held": "asyncsink_testing.crash_points.held_files:HeldFiles", "s3": "held_objects:HeldObjects"}


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    with serve() as server, server.in_environment():
        yield server


@pytest.fixture(scope="session")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the folders of all queries."""
    return tmp_path_factory.mktemp("queries")


@pytest.fixture(scope="session")
def make_query(queries: Path, s3: S3) -> MakeQuery:
    """Makes a query with its ledger in a back end."""
    ledgers, numbers = {"local": f"held:{queries}", "s3": s3.bucket()}, count(1)

    def make(back_end: str) -> Query:
        return Query(queries / f"query-{next(numbers)}", ledgers[back_end])

    return make


@pytest.fixture(scope="session")
def drivers(site: Path, s3: S3, queries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    folder = tmp_path_factory.mktemp("drivers")
    drivers = Drivers(environment(folder, queries, CONNECTORS, LEDGERS), folder)
    yield drivers
    drivers.end()
