"""What benchmarks that send rows have in common: the time and the processor's time of each run, by the row."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time


@dataclass(frozen=True, slots=True)
class Took:
    """What one run has taken."""

    seconds: float
    processor_s: float


async def timed(feed: Callable[[int], Awaitable[None]], batches: int) -> Took:
    """Feed so many batches, after one that warms up; the processor's time is that of this process."""
    await feed(1)
    processor_s, start_s = process_time(), perf_counter()
    await feed(batches)
    return Took(perf_counter() - start_s, process_time() - processor_s)


class Recorded:
    """Runs something again and again for :func:`asyncsink_testing.bench.interleave`, and keeps what each run took.

    The first run warms up, and does not count.
    """

    def __init__(self, run: Callable[[], Took]) -> None:
        self._run = run
        self._took: list[Took] = []

    def __call__(self) -> float:
        self._took.append(self._run())
        return self._took[-1].seconds

    def speeds(self, rows: int) -> list[float]:
        """Thousands of rows a second of each round."""
        return [rows / each.seconds / 1000 for each in self._took[1:]]

    def costs(self, rows: int) -> list[float]:
        """Nanoseconds of processor time for each row, of each round."""
        return [each.processor_s / rows * 1e9 for each in self._took[1:]]


def tell(what: str, speeds: Sequence[float], costs: Sequence[float]) -> None:
    """Print one line as soon as the figures are there: a median, and the least and the most, of each."""
    told = (
        f"{median(each):8,.0f} {unit} ({min(each):,.0f} to {max(each):,.0f})"
        for each, unit in ((speeds, "thousand rows/s"), (costs, "ns of processor time a row"))
    )
    sys.stdout.write(f"{what:<72} {', '.join(told)}\n")
    sys.stdout.flush()
