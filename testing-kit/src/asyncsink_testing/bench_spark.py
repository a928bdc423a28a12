"""The Spark that benchmarks of jobs run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet_session(builder: Any, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A session of 2 GB on this machine that says nothing but errors.

    :param builder: of the session, with its master
    :param settings: of the session, beside these
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    given = {
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(settings or {}),
    }
    session = builder.config(map=given).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
