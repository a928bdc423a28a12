"""The source: numbered rows in numbered files, each of which becomes one micro-batch."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Row = dict[str, Any]

ROWS = 200
"""In each file; few enough that a micro-batch takes some tenths of a second."""
COLUMNS = "id BIGINT, text STRING"


def row(number: int) -> Row:
    """The row with this number, as it has to arrive."""
    return {"id": number, "text": f"row {number} ✓"}


def batch_of(number: int) -> int:
    """The micro-batch that a row belongs to: the stream takes one file at a time, the oldest first."""
    return number // ROWS


class Source:
    """A folder that grows file by file, as the run asks for micro-batches."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files = 0
        """Files so far; the last of them is micro-batch ``files - 1``."""
        folder.mkdir(parents=True)

    @property
    def expected(self) -> int:
        """The rows that have to arrive."""
        return self.files * ROWS

    def feed(self) -> int:
        """Add a file; returns the number of its micro-batch."""
        number = self.files
        rows = [row(each) for each in range(number * ROWS, (number + 1) * ROWS)]
        # Spark passes over names that begin with a dot: it sees the file once it is whole.
        draft = self._folder / f".{number:05}.draft"
        draft.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
        os.utime(draft, (1_700_000_000 + number,) * 2)
        draft.replace(self._folder / f"{number:05}.json")
        self.files += 1
        return number
