"""Points at which a process waits until a test has killed whom it wants to kill."""

from __future__ import annotations

import os
import select
from pathlib import Path

from asyncsink_testing.crash_points.drivers import PATIENCE_S, Driver
from asyncsink_testing.crash_points.meeting import DEAF


class Point:
    """A point at which the first process of a query that comes there waits. See the connector for their names.

    :param query: the folder of the query
    :param deaf: whether it does not hear from then on that its daemon is gone
    """

    def __init__(self, query: Path, name: str, *, deaf: bool = False) -> None:
        folder = query / "points"
        self._query, self._name, self._resume = query.name, name, folder / f"{name}.resume"
        os.mkfifo(self._resume)
        os.mkfifo(folder / f"{name}.reached")
        self._reached = os.open(folder / f"{name}.reached", os.O_RDONLY | os.O_NONBLOCK)
        (folder / name).write_text(DEAF if deaf else "")

    def reached(self, driver: Driver) -> int:
        """Wait until a process is there; its id."""
        driver.wait_for(self._reached, self._query, f"point {self._name}")
        with os.fdopen(self._reached, "rb") as pipe:
            return int(pipe.read())

    def resume(self) -> None:
        """Let it go on."""
        self._resume.write_bytes(b"")


def wait_for_the_end_of(pid: int) -> None:
    """Wait until there is no such process any more, which need not be a child of ours."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
    finally:
        os.close(descriptor)
    assert ready, f"process {pid} lives on"
