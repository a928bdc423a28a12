"""The processes of the demo: the server and Spark's driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from worker_log import FOLDER

HERE = Path(__file__).parent


@contextmanager
def running_server(folder: Path) -> Iterator[ServerStatus]:
    """The server, until the end of the block; its log on disk outlives it."""
    with subprocess.Popen([sys.executable, HERE / "server.py", folder]) as process:
        try:
            status = ServerStatus(folder / "server.json")
            while not status.read():
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended at once with exit status {process.returncode}")
                time.sleep(0.05)
            yield status
        finally:
            process.terminate()


class ServerStatus:
    """What the server says about itself, some tenths of a second old."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """The last status; empty before the first."""
        try:
            status: dict[str, Any] = json.loads(self._path.read_text())
        except FileNotFoundError:
            return {}
        return status


class Driver:
    """Spark's driver with the JVM that it starts, as one process group that can be killed as a whole.

    :param program: is run with the folder and the other arguments
    """

    def __init__(self, folder: Path, program: Path, *arguments: str) -> None:
        # Of its own: workers of a driver that was killed may outlive it for a moment.
        self.workers = Path(tempfile.mkdtemp(prefix="workers-", dir=folder))
        self._output = folder / "driver.log"
        command: list[str | Path] = [sys.executable, program, folder, *arguments]
        # What Spark's workers import has to be found in their path, as `worker_log` has.
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        environ = {**os.environ, "PYTHONPATH": path, FOLDER: str(self.workers)}
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=environ, start_new_session=True)

    def exit_status(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """SIGKILL to the driver and its JVM: nothing of theirs gets to run any more."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def output(self, lines: int) -> str:
        """The last lines that driver and workers wrote."""
        return "\n".join(self._output.read_text(errors="replace").splitlines()[-lines:])
