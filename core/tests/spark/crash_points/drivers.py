"""Spark's drivers, which a test kills, alone or with all that they have started."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from asyncsink_testing.chaos.processes import kill_session

PROGRAM = Path(__file__).with_name("program.py")
PATIENCE_S = 120


class Driver:
    """A driver with all that it starts, in a session of its own; it runs one query after the other."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        self._log, self._said = log, b""
        self.is_idle = True
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM)],
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

    def start(self, folder: Path, partitions: int) -> None:
        """Start the query of a folder."""
        assert self._process.stdin is not None
        self.is_idle = False
        self._process.stdin.write(json.dumps({"folder": str(folder), "partitions": partitions}).encode() + b"\n")
        self._process.stdin.flush()

    def failures(self) -> list[str]:
        """Wait for the end of the query; what it failed with before it was started again."""
        while b"\n" not in self._said:
            self.wait_for(self._stdout, "the end of the query")
            self._said += (said := os.read(self._stdout, 65536))
            assert said, self._tail()
        line, _, self._said = self._said.partition(b"\n")
        self.is_idle = True
        failures: list[str] = json.loads(line.removeprefix(b"done "))
        return failures

    def wait_for(self, readable: int, what: str) -> None:
        """Wait until there is something to read; not longer than the query runs."""
        ready, _, _ = select.select([readable, self._stdout], [], [], PATIENCE_S)
        assert readable in ready, f"{what} was not reached: {self._tail()}"

    def end(self) -> None:
        """Kill what is left of it."""
        kill_session(self.pid)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    @property
    def _stdout(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _tail(self) -> str:
        return self._log.read_text(errors="replace")[-5000:]


class Drivers:
    """Starts drivers, and hands on those that have survived: it is the JVM's start that takes time."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self._environ, self._folder = environ, folder
        self._living: list[Driver] = []
        self._count = 0

    def one(self) -> Driver:
        """A driver that has nothing to do."""
        return self._idle(1)[0]

    def two(self) -> tuple[Driver, Driver]:
        """One to kill, and its successor, which starts while the first is at work."""
        first, second = self._idle(2)
        return first, second

    def _idle(self, count: int) -> list[Driver]:
        while len(self._living) < count:
            self._count += 1
            self._living.append(Driver(self._environ, self._folder / f"driver-{self._count}.log"))
        return self._living[:count]

    def end_busy(self) -> None:
        """Kill what a test has left at work, and what it has killed only in part."""
        for driver in [each for each in self._living if not each.is_idle]:
            self._living.remove(driver)
            driver.end()

    def end(self) -> None:
        """Kill all."""
        for driver in self._living:
            driver.end()
