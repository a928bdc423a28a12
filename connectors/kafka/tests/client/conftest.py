"""A mock cluster for each module, and clients of it in both ways of handing batches over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.client.internals import PrivateHandover
from asyncsink_kafka.client.publicly import PublicHandover
from asyncsink_testing.kafka import MockCluster

_NUMBERS = count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: MockCluster) -> str:
    """A topic of three partitions that no other test has."""
    return _new_topic(cluster)


@pytest.fixture
def other_topic(cluster: MockCluster) -> str:
    return _new_topic(cluster)


@pytest.fixture(params=["private", "public"])
def handover(request: pytest.FixtureRequest) -> Handover:
    """Both ways, each for an idempotent producer."""
    return PrivateHandover() if request.param == "private" else PublicHandover(idempotent=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _new_topic(cluster: MockCluster) -> str:
    name = f"topic-{next(_NUMBERS)}"
    cluster.create_topic(name, 3)
    return name
