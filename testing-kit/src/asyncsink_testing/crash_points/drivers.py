"""Spark's drivers, which a test kills, alone or with all that they have started."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from asyncsink_testing.chaos.processes import kill_session

PATIENCE_S: Final = 120
"""For how long anything is waited for."""

_PROGRAM: Final = "asyncsink_testing.crash_points.program"


class Driver:
    """A driver with all that it starts, in a session of its own; it runs any number of queries at once."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        self._log, self._said = log, b""
        self._running: set[str] = set()
        self._ended: dict[str, list[str]] = {}
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environ,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process that leads the session of all that it starts."""
        return self._process.pid

    @property
    def is_idle(self) -> bool:
        """Whether all its queries have ended."""
        return not self._running

    def start(self, query: str, **job: Any) -> None:
        """Start a query. See the program for what it needs."""
        assert self._process.stdin is not None
        self._running.add(query)
        self._process.stdin.write(json.dumps({"query": query, **job}).encode() + b"\n")
        self._process.stdin.flush()

    def failures(self, query: str) -> list[str]:
        """Wait for the end of a query; what it failed with before it was started again."""
        while query not in self._ended:
            self._listen(self._readable(f"the end of query {query}"))
        return self._ended.pop(query)

    def wait_for(self, readable: int, query: str, what: str) -> None:
        """Wait until there is something to read; not longer than the query runs."""
        while readable not in (ready := self._readable(what, readable)):
            self._listen(ready)
            assert query not in self._ended, f"query {query} has ended before {what}: {self._ended[query]}"

    def tail(self) -> str:
        """The last that it, or something that it has started, has said."""
        return self._log.read_text(errors="replace")[-5000:]

    def end(self) -> None:
        """Kill what is left of it."""
        kill_session(self.pid)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    def _readable(self, what: str, *descriptors: int) -> list[int]:
        ready, _, _ = select.select([*descriptors, self._stdout], [], [], PATIENCE_S)
        assert ready, f"{what} was not reached: {self.tail()}"
        return ready

    def _listen(self, ready: list[int]) -> None:
        said = os.read(self._stdout, 65536) if self._stdout in ready else b""
        assert said, self.tail()
        *lines, self._said = (self._said + said).split(b"\n")
        for line in lines:
            query, failures = json.loads(line)
            self._ended[query] = failures
            self._running.discard(query)

    @property
    def _stdout(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()


class Drivers:
    """Starts drivers, and hands on those that have survived: it is the JVM's start that takes time."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self._environ, self._folder = environ, folder
        self._living: list[Driver] = []
        self._count = 0

    @contextmanager
    def one(self) -> Iterator[Driver]:
        """A driver that has nothing to do."""
        with self._idle(1) as (driver,):
            yield driver

    @contextmanager
    def two(self) -> Iterator[tuple[Driver, Driver]]:
        """One to kill, and its successor, which starts while the first is at work."""
        with self._idle(2) as (first, second):
            yield first, second

    @contextmanager
    def _idle(self, count: int) -> Iterator[list[Driver]]:
        while len(self._living) < count:
            self._count += 1
            self._living.append(Driver(self._environ, self._folder / f"driver-{self._count}.log"))
        try:
            yield self._living[:count]
        finally:
            self._end_busy()

    def _end_busy(self) -> None:
        """Kill what a test has left at work, and what it has killed only in part."""
        for driver in [each for each in self._living if not each.is_idle]:
            self._living.remove(driver)
            driver.end()

    def end(self) -> None:
        """Kill all."""
        for driver in self._living:
            driver.end()
