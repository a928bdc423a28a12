"""Queries that tests interrupt: their rows, the points at which they wait, and what has come of them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from asyncsink_testing.crash_points.drivers import Driver
from asyncsink_testing.crash_points.meeting import FAILING
from asyncsink_testing.crash_points.points import Point

BATCHES: Final = 3
ROWS: Final = 8
"""In each micro-batch."""

WRITTEN_AGAIN: Final = frozenset({1, 3, 4})
"""By which attempts rows become visible when attempt 2 was interrupted before it was decided."""

FINISHED: Final = frozenset({1, 2, 4})
"""Likewise when it was interrupted after that."""


class Query:
    """A query with the rows of all its micro-batches, numbers from 0 on, in a folder of its own.

    Attempts at batches are counted from 1, micro-batches from 0: attempt 2 is the first at micro-batch 1.

    :param ledgers: where its ledger lies, in a folder of the query's name
    :param columns: of its rows, as expressions in SQL of the column ``value``, which holds the number in digits
    :param options: of its writer, the connector's name included
    """

    def __init__(self, folder: Path, ledgers: str, columns: Sequence[str], options: Mapping[str, str]) -> None:
        self.folder, self.name, self.ledger = folder, folder.name, f"{ledgers}/{folder.name}/ledger"
        self._columns, self._options = list(columns), dict(options)
        for each in ("lines", "points"):
            (folder / each).mkdir(parents=True)
        for number in range(BATCHES):
            file = folder / "lines" / f"{number}.txt"
            file.write_text("".join(f"{each}\n" for each in range(number * ROWS, (number + 1) * ROWS)))
            # Spark takes the oldest file first.
            os.utime(file, (1_700_000_000 + number,) * 2)

    def start(self, driver: Driver, partitions: int, **options: str) -> None:
        """Start it, or start it again from its checkpoint; this time with these options beside its own."""
        driver.start(
            self.name,
            folder=str(self.folder),
            ledger=self.ledger,
            partitions=partitions,
            columns=self._columns,
            options=self._options | options,
        )

    def point(self, name: str, *, deaf: bool = False) -> Point:
        """Have the first process of the query that comes there wait."""
        return Point(self.folder, name, deaf=deaf)

    def fail_at(self, name: str) -> None:
        """Have the first call that comes there fail."""
        (self.folder / "points" / name).write_text(FAILING)

    def asked(self, event: str) -> list[int]:
        """The processes in which a committer was asked for this."""
        lines = (self.folder / "events").read_text().splitlines()
        return [int(line.split()[1]) for line in lines if line.split()[0] == event]


QueryT = TypeVar("QueryT", bound=Query)
KeyT = TypeVar("KeyT", bound=Hashable)


@dataclass(frozen=True)
class Ended(Generic[QueryT]):
    """A query that was interrupted, and is over.

    :param failures: what it failed with since
    """

    query: QueryT
    failures: list[str]


def bring_to(
    points: Mapping[KeyT, Point], queries: Mapping[KeyT, QueryT], driver: Driver, **options: str
) -> dict[KeyT, int]:
    """Run queries until all are at their points, with these options beside their own; the processes there."""
    for query in queries.values():
        query.start(driver, 2, **options)
    return {key: point.reached(driver) for key, point in points.items()}
