from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from asyncsink_testing.s3_server import S3, serve

from .drivers import Drivers
from .queries import MakeQuery, Query

ENTRY_POINTS = """\
[asyncsink]
stopping = asyncsink_stopping

[fsspec.specs]
held = held_files:HeldFiles
s3 = held_objects:HeldObjects
"""


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    with serve() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
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
