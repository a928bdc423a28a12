"""Queries that tests interrupt: their rows, the points at which they wait, and what has come of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .drivers import Driver
from .points import Point

BATCHES, ROWS = 3, 8

BACK_ENDS = ("local", "s3")
"""Where ledgers lie: in files of this machine, and in S3."""

WRITTEN_AGAIN, FINISHED = {1, 3, 4}, {1, 2, 4}
"""By which attempts the visible rows are written when attempt 2 was interrupted before it was decided, and after."""

UNDER_WAY = "slot-2, under way"
"""Where the decision on attempt 2 has left the process that has made it, and not arrived yet."""

Key = tuple[str, str]
"""A back end, and where a query was interrupted."""


class Query:
    """A query with the rows of all its micro-batches, in a folder of its own.

    :param ledgers: where its ledger lies, in a folder of the query's name
    """

    def __init__(self, folder: Path, ledgers: str) -> None:
        self.folder, self.name, self.ledger = folder, folder.name, f"{ledgers}/{folder.name}/ledger"
        for each in ("lines", "points"):
            (folder / each).mkdir(parents=True)
        for number in range(BATCHES):
            file = folder / "lines" / f"{number}.txt"
            file.write_text("".join(f"{each}\n" for each in range(number * ROWS, (number + 1) * ROWS)))
            # Spark takes the oldest file first.
            os.utime(file, (1_700_000_000 + number,) * 2)

    def start(self, driver: Driver, partitions: int) -> None:
        """Start it, or start it again from its checkpoint."""
        driver.start(self.name, folder=str(self.folder), ledger=self.ledger, partitions=partitions)

    def point(self, name: str, *, deaf: bool = False) -> Point:
        """Have the first process of the query that comes there wait."""
        return Point(self.folder, name, deaf=deaf)

    def path_of(self, name: str) -> str:
        """Where a file of its transactions lies in S3: bucket and key."""
        return f"/{self.ledger.partition('://')[2]}/asyncsink/stopping/transactions/{name}"

    def staged(self) -> list[Path]:
        """What is prepared and not committed."""
        return sorted((self.folder / "staged").glob("*"))

    def check(self, attempts: set[int]) -> None:
        """See that each row is visible once and nothing is left, and by which attempts the rows were written."""
        files = sorted((self.folder / "visible").glob("*"))
        rows = [json.loads(line)["id"] for path in files for line in path.read_text().splitlines()]
        assert sorted(rows) == [*range(BATCHES * ROWS)], f"{sorted(rows)} are visible in {self.folder}"
        written = {int(path.name.split("-")[1]) for path in files}
        assert written == attempts, f"attempts {written} have written what is visible in {self.folder}, not {attempts}"
        assert self.staged() == [], f"{self.staged()} are left"

    def asked(self, event: str) -> list[int]:
        """The processes in which a committer was asked for this."""
        lines = (self.folder / "events").read_text().splitlines()
        return [int(line.split()[1]) for line in lines if line.split()[0] == event]


MakeQuery = Callable[[str], Query]
"""Makes a query with its ledger in a back end."""


@dataclass(frozen=True)
class Ended:
    """A query that was interrupted, and is over.

    :param failures: what it failed with since
    """

    query: Query
    failures: list[str]


def bring_to(points: Mapping[Key, Point], queries: Mapping[Key, Query], driver: Driver) -> dict[Key, int]:
    """Run queries until all are at their points; the ids of the processes there."""
    for query in queries.values():
        query.start(driver, 2)
    return {key: point.reached(driver) for key, point in points.items()}
