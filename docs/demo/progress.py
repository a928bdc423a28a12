"""The live line: what the server and the checkpoint say, several times a second."""

from __future__ import annotations

import sys
import time
from typing import Any

TERMINAL_PERIOD_S = 0.25
LOG_PERIOD_S = 2.0


class ProgressLine:
    """Redraws one line on a terminal; writes a line every two seconds into anything else."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._shown = (time.monotonic(), 0)

    def show(self, status: dict[str, Any], batch: int) -> None:
        now, rows = time.monotonic(), int(status.get("rows stored", 0))
        then, rows_then = self._shown
        if now - then < (TERMINAL_PERIOD_S if self._live else LOG_PERIOD_S):
            return
        self._shown = (now, rows)
        line = (
            f"batch {batch:2}  {rows:6} rows stored  {(rows - rows_then) / (now - then):7.0f} rows/s  "
            f"in flight {status['in flight']:3}  retries {retries(status):4}"
        )
        print(f"\r{line}\x1b[K" if self._live else line, end="" if self._live else "\n", flush=True)

    def end(self) -> None:
        if self._live:
            print()


def refused(status: dict[str, Any]) -> int:
    """Requests that were answered with a refusal, 429 or 503."""
    return int(status.get("throttled", 0)) + int(status.get("unavailable", 0))


def retries(status: dict[str, Any]) -> int:
    """Requests that the sink had to send again: the refused ones and those whose connection was dropped."""
    dropped = ("dropped before storing", "dropped after storing")
    return refused(status) + sum(int(status.get(name, 0)) for name in dropped)
