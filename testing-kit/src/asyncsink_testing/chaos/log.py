"""The log of a destination that is a process of ours: a line of JSON for each request that it has stored.

A line is a list of rows, or an object with the rows and the key by which the destination knows the request again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from asyncsink_testing.chaos.source import Row

NAME = "stored.log"


def open_log(folder: Path) -> BinaryIO:
    """The log, to be added to; a line that a kill has cut short goes, for its request was not acknowledged."""
    path = folder / NAME
    if path.exists():
        whole = path.read_bytes()
        with path.open("r+b") as opened:
            opened.truncate(whole.rfind(b"\n") + 1)
    # Unbuffered: a line is one call of the kernel, and what the kernel has outlives the process.
    return path.open("ab", buffering=0)


def read_log(folder: Path, position: int = 0) -> tuple[list[Row], int]:
    """The rows that were stored beyond a position, in the order of their requests, and the position behind them."""
    path = folder / NAME
    if not path.exists():
        return [], 0
    with path.open("rb") as opened:
        opened.seek(position)
        fresh = opened.read()
    fresh = fresh[: fresh.rfind(b"\n") + 1]
    rows = [each for line in fresh.splitlines() for each in _rows(json.loads(line))]
    return rows, position + len(fresh)


def _rows(line: Any) -> list[Row]:
    rows: list[Row] = line["rows"] if isinstance(line, dict) else line
    return rows


def read_keys(folder: Path) -> set[str]:
    """The keys of the requests that were stored with one."""
    path = folder / NAME
    lines = path.read_bytes().splitlines() if path.exists() else []
    return {told["key"] for told in map(json.loads, lines) if isinstance(told, dict)}


class LogReader:
    """Reads the log of a run's folder, on and on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._position = 0

    def fresh(self) -> list[Row]:
        rows, self._position = read_log(self._folder, self._position)
        return rows

    def everything(self) -> list[Row]:
        return read_log(self._folder)[0]

    def close(self) -> None:
        """Keeps nothing open."""
