"""Spark's processes as the kernel shows them: who belongs to whom, and which of them does what."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")

DAEMON = "pyspark.daemon"
"""The module that Spark starts for each kind of Python process; it forks those that do the work."""

MODULES = {
    "worker": "pyspark.worker",
    "planner": "pyspark.sql.worker.write_into_data_source",
    "commit process": "pyspark.sql.worker.python_streaming_sink_runner",
}
"""What the children of a daemon run, by the name we give them: the daemon's first argument, which they inherit."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment."""

    pid: int
    parent: int
    session: int
    command: tuple[str, ...]
    processor_s: float
    """What it has used so far, in user mode and in the kernel's; not what its children have."""

    @property
    def is_daemon(self) -> bool:
        return DAEMON in self.command


def is_supported() -> bool:
    """Whether this system tells of its processes in ``/proc``, as Linux does."""
    return (_PROC / "self" / "stat").exists()


def processes() -> Iterator[Process]:
    """All that live; those that end meanwhile, and those that wait for their parent to take note, are left out."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                found = _read(folder)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if found is not None:
                yield found


def _read(folder: Path) -> Process | None:
    # The name in brackets may hold anything, brackets too.
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    state, parent, _, session = fields[:4]
    if state in "ZX":
        return None
    command = (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    used_s = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return Process(int(folder.name), int(parent), int(session), tuple(command), used_s)


def descendants(ancestor: int, without: int | None = None) -> list[Process]:
    """The process itself, and all that it or one of these has started.

    :param without: a process that is left out, with all that it has started
    """
    known = {each.pid: each for each in processes()}
    return [each for each in known.values() if _descends(each, ancestor, known) and not _descends(each, without, known)]


def python_processes(kind: str, driver: int) -> list[int]:
    """The ids of the processes of one kind, one of `MODULES`, that a daemon has forked for this driver."""
    known = {each.pid: each for each in descendants(driver)}
    return [
        each.pid
        for each in known.values()
        if each.is_daemon
        and each.command[-1] == MODULES[kind]
        and each.parent in known
        and known[each.parent].command == each.command
    ]


def _descends(process: Process | None, ancestor: int | None, known: Mapping[int, Process]) -> bool:
    while process is not None and process.pid != ancestor:
        process = known.get(process.parent)
    return process is not None


def kill(pid: int) -> bool:
    """SIGKILL; whether there was anything to kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_driver(driver: int) -> bool:
    """SIGKILL to a driver and its JVM, and to nothing else: their Python processes notice that they are alone."""
    members = [each.pid for each in processes() if each.session == driver and not each.is_daemon]
    return sum(kill(pid) for pid in members) > 0


def kill_session(session: int) -> bool:
    """SIGKILL to all of a session: Spark's daemons are in process groups of their own, and in the driver's session.

    :returns: whether there was anything to kill
    """
    killed = False
    while members := [each.pid for each in processes() if each.session == session]:
        killed = sum(map(kill, members)) > 0 or killed
        _reap(members)
    return killed


def _reap(pids: list[int]) -> None:
    """Take note of the end of those that are our children, so that they are seen no more."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
