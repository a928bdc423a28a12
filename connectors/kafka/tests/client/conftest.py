"""A mock cluster for each module, and clients of it in both ways of handing batches over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from asyncsink_testing.kafka import MockCluster

_NUMBERS = count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: MockCluster) -> str:
    """A topic of three partitions that no other test has."""
    name = f"topic-{next(_NUMBERS)}"
    cluster.create_topic(name, 3)
    return name


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
