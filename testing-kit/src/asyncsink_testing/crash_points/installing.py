"""Connectors and back ends of ledgers that are there for the drivers alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from asyncsink_testing.crash_points.meeting import QUERIES


def environment(
    folder: Path, queries: Path, connectors: Mapping[str, str], back_ends: Mapping[str, str]
) -> dict[str, str]:
    """That of drivers in which some more is installed than in this process.

    :param folder: empty; what pip would leave is written there
    :param queries: holds the folders of all queries
    :param connectors: by their names, the modules with their hooks
    :param back_ends: by their protocols, file systems of fsspec, as ``module:class``
    """
    info = folder / "asyncsink_stopping-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: asyncsink-stopping\nVersion: 1.0\n")
    groups = {"asyncsink": connectors, "fsspec.specs": back_ends}
    lines = [line for group, names in groups.items() for line in (f"[{group}]", *map(" = ".join, names.items()))]
    (info / "entry_points.txt").write_text("".join(f"{line}\n" for line in lines))
    path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        QUERIES: str(queries),
        "PYTHONPATH": os.pathsep.join(path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
