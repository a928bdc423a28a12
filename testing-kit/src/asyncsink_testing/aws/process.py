"""A fake of somebody else's as a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Self

from asyncsink_testing.ports import HOST

_START_S = 60.0
_STOP_S = 10.0
_POLL_S = 0.02
_ASKING_S = 5.0


class ServiceProcess:
    """A program that answers HTTP on a port; it runs while this is entered, and no longer than this process.

    :param name: for messages
    :param folder: its working directory, which also keeps ``service.log``; by default a temporary one that goes with it
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self._name, self._kept = name, folder
        self._folder = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    def _start(self, command: Sequence[str], environment: Mapping[str, str], port: int) -> None:
        self._folder = self._kept or Path(tempfile.mkdtemp(prefix=f"asyncsink-{self._name}-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        # The program itself does not see that its parent has died. The watcher's input ends then.
        watching = f"read -r _; kill -9 {self._process.pid}"
        self._watcher = subprocess.Popen(["/bin/sh", "-c", watching], stdin=subprocess.PIPE)
        try:
            self._wait_until_ready(self._process, port)
        except BaseException:
            self._end()
            raise

    def _wait_until_ready(self, process: subprocess.Popen[bytes], port: int) -> None:
        deadline_s = time.monotonic() + _START_S
        while not _answers(port):
            code = process.poll()
            if code is not None or time.monotonic() > deadline_s:
                what = f"ended with {code}" if code is not None else f"was not ready within {_START_S:g} s"
                raise RuntimeError(f"{self._name} {what}: {self.log()[-1500:]}")
            time.sleep(_POLL_S)

    def _end(self) -> None:
        process, watcher = self._process, self._watcher
        self._process = self._watcher = None
        if watcher is not None:
            watcher.kill()
            watcher.communicate()
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._kept is None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        raise NotImplementedError(f"{type(self).__name__} does not say how it is started")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self._process is not None else None

    def log(self) -> str:
        """What it has said."""
        path = self._folder / "service.log"
        return path.read_text(errors="replace") if path.exists() else ""


def _answers(port: int) -> bool:
    """Whether it answers a request, with whatever."""
    connection = HTTPConnection(HOST, port, timeout=_ASKING_S)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    except (HTTPException, OSError):
        return False
    finally:
        connection.close()
