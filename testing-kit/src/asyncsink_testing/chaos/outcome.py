"""What a run has shown: the account of its rows, and which kills hit what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asyncsink_testing.chaos.progress import Moment
from asyncsink_testing.chaos.schedule import LEAST_COMMITS, LEAST_WRITES, Victim
from asyncsink_testing.chaos.source import Row, batch_of, row
from asyncsink_testing.chaos.targets import EFFECTIVELY_ONCE, EXACTLY_ONCE


@dataclass(frozen=True, slots=True)
class Hit:
    """A kill as it came about."""

    victim: Victim
    moment: Moment


@dataclass(frozen=True, slots=True)
class Outcome:
    """The account.

    :param expected: rows of the source, from number 0
    :param read: rows that stand in the destination, each as often as it does
    :param lost: the numbers of those that do not stand there as they were written, in order
    :param strange: rows that stand there and are none of the source's, or not as they were written
    """

    sink: str
    guarantee: str
    hits: tuple[Hit, ...]
    expected: int
    read: int
    lost: tuple[int, ...]
    strange: int

    @property
    def missing(self) -> int:
        return len(self.lost)

    @property
    def duplicates(self) -> int:
        return self.read - self.strange - (self.expected - self.missing)

    @property
    def line(self) -> str:
        """The account in one line."""
        return (
            f"sink {self.sink} guarantee {self.guarantee} kills {len(self.hits)} expected {self.expected} "
            f"read {self.read} missing {self.missing} duplicates {self.duplicates}"
        )

    def during(self, moment: Moment) -> int:
        """The kills that hit this."""
        return sum(each.moment == moment for each in self.hits)

    def faults(self) -> Iterator[str]:
        """Why the run has failed; nothing if it has not."""
        if self.missing:
            batches = ", ".join(map(str, sorted({batch_of(each) for each in self.lost})))
            yield f"{self.missing} rows are missing, row {self.lost[0]} is the first; of the micro-batches {batches}"
        if self.strange:
            yield f"{self.strange} rows arrived that the source does not hold, or changed"
        if self.duplicates and self.guarantee in (EFFECTIVELY_ONCE, EXACTLY_ONCE):
            yield f"{self.duplicates} rows stand in the destination more than once"
        least: dict[Moment, float] = {"write": LEAST_WRITES, "commit": LEAST_COMMITS}
        for moment, share in least.items():
            if self.during(moment) < share * len(self.hits):
                yield f"only {self.during(moment)} of {len(self.hits)} kills hit a running {moment}: that shows little"

    def table(self) -> str:
        """How many kills of whom hit what."""
        columns: tuple[Moment, ...] = ("planning", "write", "commit", "replay", "between")
        counts = Counter(self.hits)
        lines = ["".join(["killed".ljust(16), *(each.rjust(10) for each in columns)])]
        for victim in sorted({each.victim for each in self.hits}):
            cells = (str(counts[Hit(victim, moment)]).rjust(10) for moment in columns)
            lines.append("".join([victim.ljust(16), *cells]))
        share = f"{self.during('write')} hit a running write, {self.during('commit')} a running commit"
        return "\n".join([*lines, f"of {len(self.hits)} kills {share}"])


def account(sink: str, guarantee: str, hits: Iterable[Hit], expected: int, stored: Iterable[Row]) -> Outcome:
    """Hold what stands in the destination against the rows of the source from 0 to `expected`."""
    seen: set[int] = set()
    read = strange = 0
    for each in stored:
        read += 1
        number = each.get("id")
        if isinstance(number, int) and 0 <= number < expected and each == row(number):
            seen.add(number)
        else:
            strange += 1
    lost = tuple(number for number in range(expected) if number not in seen)
    return Outcome(sink, guarantee, tuple(hits), expected, read, lost, strange)
