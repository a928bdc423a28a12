"""The live line: what the server and the checkpoint say, several times a second."""

from __future__ import annotations

import sys
import time
from typing import Any

TERMINAL_PERIOD_S = 0.25
LOG_PERIOD_S = 2.0


class ProgressLine:
    """Redraws one line on a terminal; writes a line every two seconds into anything else.

    "In flight" is what the server saw at most since the last line, "limit" the rows that the sink's rate limit lets be
    in flight, and "retries" the requests that the sink had to send again.
    """

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._shown_at = time.monotonic()
        self._rows = self._in_flight = 0

    def show(self, status: dict[str, Any], batch: int, limit: int | None) -> None:
        """Takes note of a status, and shows it if it is time to."""
        self._in_flight = max(self._in_flight, int(status["in flight"]))
        seconds = time.monotonic() - self._shown_at
        if seconds < (TERMINAL_PERIOD_S if self._live else LOG_PERIOD_S):
            return
        rows = int(status.get("rows stored", 0))
        line = (
            f"batch {batch:2}  {rows:6} rows stored  {(rows - self._rows) / seconds:6.0f} rows/s  "
            f"in flight {self._in_flight:3}  limit {limit or '-':>5}  retries {retries(status):3}"
        )
        print(f"\r{line}\x1b[K" if self._live else line, end="" if self._live else "\n", flush=True)
        self._shown_at, self._rows, self._in_flight = time.monotonic(), rows, 0

    def end(self) -> None:
        """Leaves the last state of the line on the terminal."""
        if self._live:
            print()


def refused(status: dict[str, Any]) -> int:
    """Requests that were answered with a refusal, 429 or 503."""
    return int(status.get("throttled", 0)) + int(status.get("unavailable", 0))


def retries(status: dict[str, Any]) -> int:
    """Requests that the sink had to send again: the refused ones and those whose connection was dropped."""
    dropped = ("dropped before storing", "dropped after storing")
    return refused(status) + sum(int(status.get(name, 0)) for name in dropped)
