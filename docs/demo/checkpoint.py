"""What Spark's checkpoint says about the progress of the query."""

from __future__ import annotations

import json
from pathlib import Path


class Checkpoint:
    """Reads a streaming query's checkpoint; it may not exist yet, and Spark may be writing to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def planned(self) -> int:
        """Micro-batches whose content is fixed, the running one included."""
        return len(self._numbers("offsets"))

    def committed(self) -> int:
        """Micro-batches that the sink has delivered as a whole."""
        return len(self._numbers("commits"))

    def committed_files(self) -> set[Path]:
        """The source's files in the committed micro-batches."""
        committed = self._numbers("commits")
        entries = [json.loads(line) for line in self._source_lines()]
        return {Path(entry["path"].removeprefix("file://")) for entry in entries if entry["batchId"] in committed}

    def _source_lines(self) -> list[str]:
        # The first line of each file is the version of its format.
        logs = (self._folder / "sources" / "0").glob("[0-9]*")
        return [line for log in logs for line in log.read_text().splitlines()[1:]]

    def _numbers(self, kind: str) -> set[int]:
        return {int(path.name) for path in (self._folder / kind).glob("[0-9]*")}
