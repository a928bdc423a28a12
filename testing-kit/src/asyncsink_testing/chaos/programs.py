"""The two programs that the harness starts, each in a session of its own that is killed as a whole in the end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.processes import kill_session
from asyncsink_testing.chaos.targets import Target, partitions

RESTARTED = "the query has failed and is started again"
"""What the driver logs then."""

_START_S = 30.0
_POLL_S = 0.01
_LINES = 60


class Program:
    """A module that runs until it is killed, started anew as often as it takes.

    It ends with its stdin, so that it does not outlive a harness that is killed itself.
    """

    def __init__(self, module: str, folder: Path) -> None:
        self._command = [sys.executable, "-m", module, str(folder)]
        self._log = folder / f"{module.rpartition('.')[2]}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions:
            kill_session(session)
        self.buried()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        self._sessions.append(self._process.pid)

    @property
    def starts(self) -> int:
        """How often it has been started."""
        return len(self._sessions)

    @property
    def pid(self) -> int:
        """The process that was started last, which leads the session of all that it starts."""
        if self._process is None:
            raise ChaosError(f"{self._command[2]} has not been started")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def buried(self) -> None:
        """Wait until the process that was killed has ended; it ends without a kill as well, for its stdin does."""
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait()

    def tail(self, lines: int = _LINES) -> str:
        """What it has logged last, without the frames of the JVM's stack."""
        told = [line for line in self.text().splitlines() if not line.startswith("\tat ")]
        return "\n".join(told[-lines:])

    def text(self) -> str:
        """All that it has logged."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""


class Destination(Program):
    """The destination, which comes back to its endpoint with all that it had stored."""

    def __init__(self, module: str, folder: Path) -> None:
        super().__init__(module, folder)
        self._endpoint = folder / "endpoint"

    def endpoint(self) -> str:
        """Where it listens.

        :raises ChaosError: it does not come to listen
        """
        deadline_s = time.monotonic() + _START_S
        while not self._endpoint.exists():
            if not self.is_running or time.monotonic() > deadline_s:
                raise ChaosError(f"the destination did not come to listen; it logged last:\n{self.tail()}")
            time.sleep(_POLL_S)
        return self._endpoint.read_text()


class Driver(Program):
    """Spark's driver with its JVM and the Python processes of both.

    :param options: of the sink
    """

    def __init__(self, folder: Path, target: Target, options: Mapping[str, str], guarantee: str) -> None:
        super().__init__("asyncsink_testing.chaos.driver", folder)
        self._job: dict[str, Any] = {
            "format": target.format,
            "options": dict(options),
            "columns": list(target.columns),
            "settings": dict(target.settings),
            "partitions": partitions(guarantee),
        }
        self._file = folder / "job.json"

    def start_with(self, seed: int) -> None:
        """Start it; the seed decides on the numbers of partitions of its queries."""
        self._file.write_text(json.dumps({**self._job, "seed": seed}))
        self.start()

    def failures(self) -> int:
        """How many queries have failed and were started again by the same driver."""
        return self.text().count(RESTARTED)
