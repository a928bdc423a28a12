"""Processor time of processes, as Linux counts it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


def keep_orphans() -> None:
    """Become the parent of processes whose own has ended, such as Spark's daemons: in init's care they would be lost.

    :raises OSError: this is no Linux
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def tree(root: int, without: int | None = None) -> dict[int, float]:
    """The seconds that a process, and all that it or one of these has started, have used so far, by their ids.

    :param without: a process that is left out, with all that it has started
    """
    parents, used_s = {}, {}
    for pid, parent, ticks in _processes():
        parents[pid], used_s[pid] = parent, ticks / _TICKS_PER_S
    del parents[root]
    return {pid: used_s[pid] for pid in used_s if root in (line := _ancestry(pid, parents)) and without not in line}


def spent_s(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """What was used between two looks at a tree.

    A process that has ended between them does not count. Spark's daemon has the kernel forget its workers, and it ends
    those that have had nothing to do for a minute: in a sum over the tree all that they ever did would be missing.
    """
    return sum(used_s - before.get(pid, 0.0) for pid, used_s in after.items())


def _processes() -> Iterator[tuple[int, int, int]]:
    """Id, parent and clock ticks of each."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name in brackets may hold anything, brackets too.
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            # In user mode and in the kernel's.
            yield int(folder.name), int(fields[1]), sum(map(int, fields[11:13]))


def _ancestry(pid: int, parents: dict[int, int]) -> list[int]:
    """The process, its parent, and so on."""
    line = [pid]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line
