"""What can be seen of the query from outside: the rows that have arrived, and Spark's checkpoint."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Literal

from asyncsink_testing.chaos.source import ROWS, batch_of
from asyncsink_testing.chaos.targets import Reader

Moment = Literal["planning", "write", "commit", "replay", "between"]
"""``planning``: the micro-batch stands in the checkpoint, and none of its rows has arrived; ``write``: some have;
``commit``: all have, and it is not committed; ``replay``: anything of that in a micro-batch that was hit before;
``between``: there is none that has begun and is not committed."""


class Progress:
    """Of the query whose checkpoint lies in this folder, and whose rows arrive where this reader reads."""

    def __init__(self, reader: Reader, folder: Path) -> None:
        self._reader, self._folder = reader, folder
        self._arrived: dict[int, set[int]] = defaultdict(set)
        self._hit: set[int] = set()
        self._committed: set[int] = set()

    def look(self) -> None:
        """Take note of the rows that have arrived since the last look; what is no row is left to the account."""
        for row in self._reader.fresh():
            number = row.get("id")
            if isinstance(number, int):
                self._arrived[batch_of(number)].add(number)

    def arrived(self, batch: int) -> int:
        """The rows of a micro-batch that had arrived at the last look."""
        return len(self._arrived[batch])

    def is_committed(self, batch: int) -> bool:
        # Spark keeps the last hundred of its commits.
        if batch not in self._committed and (self._folder / "checkpoint" / "commits" / str(batch)).exists():
            self._committed.add(batch)
        return batch in self._committed

    def hit(self, batch: int) -> None:
        """Take note that a kill has come while it was under way: from now on its rows come again."""
        self._hit.add(batch)

    def moment(self, batch: int) -> Moment:
        """What goes on with a micro-batch now, by the last look at its rows."""
        if self.is_committed(batch) or not (self._folder / "checkpoint" / "offsets" / str(batch)).exists():
            return "between"
        if batch in self._hit:
            return "replay"
        if self.arrived(batch) == ROWS:
            return "commit"
        return "write" if self.arrived(batch) else "planning"
