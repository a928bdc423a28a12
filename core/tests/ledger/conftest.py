from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from asyncsink.ledger.local import LocalStore
from asyncsink.ledger.remote import RemoteStore
from asyncsink.ledger.store import Store, open_store
from asyncsink.ledger.writing import Renaming
from asyncsink_testing.memory_store import MemoryStore
from asyncsink_testing.s3_server import S3, serve

from .hadoop import Hadoop


@pytest.fixture(scope="session")
def served() -> Iterator[S3]:
    with serve() as s3, s3.in_environment():
        yield s3


@pytest.fixture
def s3(served: S3) -> S3:
    """The server, with all its manners."""
    served.deaf, served.answers = False, []
    return served


@pytest.fixture(params=["gone", "local", "memory", "renaming", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A new store of each kind, in a folder that does not exist."""
    if request.param == "gone":
        return MemoryStore()
    if request.param == "local":
        return LocalStore(tmp_path / "a b" / "c%20d")
    if request.param == "memory":
        return open_store(f"memory://{uuid4().hex}/a b/")
    if request.param == "renaming":
        hadoop = Hadoop()
        return RemoteStore(hadoop, Renaming(hadoop), f"{tmp_path}/a b", "hdfs://host/a b")
    s3: S3 = request.getfixturevalue("s3")
    return open_store(f"{s3.bucket()}/a b/c%20d/")
