"""One Spark session for all tests, and two clusters for its rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from asyncsink_testing.kafka import KafkaBroker, MockCluster
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .streams import Clusters, Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# They live as long as the tests do; on a busy machine a controller would else take its broker for dead.
PROPERTIES = {"broker.session.timeout.ms": "60000"}

_numbers = count(1)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, and two tries for each task. Its workers find a metadata service of a user's own on their path."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        site = Path(__file__).with_name("site")
        patch.syspath_prepend(site)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
        session = SparkSession.builder.master("local[2, 2]").config(map=settings).getOrCreate()
        yield session
        for query in session.streams.active:
            query.stop()
        session.stop()


@pytest.fixture(scope="session")
def mock_clusters() -> Iterator[Clusters]:
    with MockCluster() as first, MockCluster() as second:
        yield {"A": first, "B": second}


@pytest.fixture(scope="session")
def brokers() -> Iterator[Clusters]:
    with skipped_without_kafka(), ExitStack() as stack:
        yield {name: stack.enter_context(KafkaBroker(properties=PROPERTIES)) for name in ("A", "B")}


@pytest.fixture
def stream(mock_clusters: Clusters, tmp_path: Path) -> Stream:
    return Stream(mock_clusters, tmp_path, f"orders-{next(_numbers)}")


@pytest.fixture
def broker_stream(brokers: Clusters, tmp_path: Path) -> Stream:
    return Stream(brokers, tmp_path, f"orders-{next(_numbers)}")
