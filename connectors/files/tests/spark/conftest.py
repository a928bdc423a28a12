"""One Spark session for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, served: object) -> Iterator[SparkSession]:
    """Two cores, and two tries for each task. Its processes find S3 in the environment in which it starts."""
    # Conformance checks without Spark are collected from here as well.
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
    session = SparkSession.builder.master("local[2, 2]").config(map=settings).getOrCreate()
    yield session
    for query in session.streams.active:
        query.stop()
    session.stop()
