"""Runs that are killed at any point, and what has to be there after one that is not."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

import asyncsink.local_run
from asyncsink import LocalRun, run_local
from asyncsink_files import FilesSink
from asyncsink_testing.killing import Killed, Points, WatchedStore

from .killing import WatchedFilesSink
from .reading import hidden, rows_in, rows_listed

FOREIGN: Final = ("_asyncsink/mine", "_asyncsink/0123456789abcdef/0123456789abcdef-1-0-0-0123456789ab")
"""What others have put beside the sink's own files."""

ROWS = [{"id": number, "text": f"row {number} " * 3} for number in range(10)]


def run(sink: FilesSink, state: Path, rows: list[dict[str, Any]] = ROWS, every: int | None = None) -> LocalRun:
    return anyio.run(partial(run_local, sink, rows, state, checkpoint_every=every, commit_timeout_s=5.0))


class Trial:
    """A folder with runs that may be killed, beside files of others."""

    every = 4
    """Rows between two commits."""

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        self.folder, self.options = folder, options
        self.foreign = [self.rows / name for name in FOREIGN]
        for path in self.foreign:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("do not touch")

    @property
    def rows(self) -> Path:
        return self.folder / "rows"

    def sink(self) -> WatchedFilesSink:
        return WatchedFilesSink(path=str(self.rows), **self.options)

    def attempt(self, kill_at: int | None = None) -> list[str]:
        """Run until the end, or until the point at which it is killed; the points it came to."""
        points = Points(kill_at)
        sink = self.sink()
        sink.points = points
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncsink.local_run, "open_store", lambda _: WatchedStore.at(self.folder / "state", points))
            with suppress(Killed):
                run(sink, self.folder / "state", every=self.every)
        return points.passed

    def check(self) -> None:
        """See that all rows are shown and listed, each once, and that nothing is left but what others have."""
        assert rows_in(self.rows) == ROWS
        assert rows_listed(self.rows) == ROWS
        assert hidden(self.rows) == sorted(self.foreign)
        assert {path.read_text() for path in self.foreign} == {"do not touch"}
