"""The check: what the server stored, read from its own log, against the source, row by row and column by column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flights import COLUMNS, MISSING


@dataclass(frozen=True, slots=True)
class Audit:
    """What became of the rows. A row that arrived changed counts as missing, and as different."""

    sent: int
    distinct: int
    duplicates: int
    different: int

    @property
    def missing(self) -> int:
        return self.sent - self.distinct


def stored_rows(log: Path) -> Iterator[dict[str, Any]]:
    """The rows in the server's log, in the order in which it stored them."""
    with log.open("rb") as opened:
        while length := opened.readline():
            yield from json.loads(opened.read(int(length)))
            opened.read(1)


def as_line(row: dict[str, Any]) -> str:
    """A received row as a line of the source; an absent column, or one that is null, is a missing value."""
    values = (row.pop(name, None) for name in COLUMNS)
    line = ",".join(MISSING if value is None else str(value) for value in values)
    return f"{line} and {sorted(row)}" if row else line


def compare(lines: list[str], log: Path) -> Audit:
    """Holds every stored row against the line of the source that has its row number."""
    seen = bytearray(len(lines))
    arrived = different = 0
    for row in stored_rows(log):
        arrived += 1
        number = row.get("row")
        if isinstance(number, int) and 0 <= number < len(lines) and as_line(row) == lines[number]:
            seen[number] = 1
        else:
            different += 1
    distinct = sum(seen)
    return Audit(sent=len(lines), distinct=distinct, duplicates=arrived - different - distinct, different=different)
