"""Processor time of processes, as Linux counts it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


_PR_SET_CHILD_SUBREAPER = 36


def keep_orphans() -> None:
    """Become the parent of processes whose own has ended, such as Spark's daemons: in init's care they would be lost.

    :raises OSError: this is no Linux
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def tree_s(root: int, without: int | None) -> float:
    """What a process and all that it or one of these has started have used, with those that have ended since.

    One that has ended counts with its parent, from when that has taken note of its end.

    :param without: a process that is left out, with all that it has started
    """
    parents, used_s = {}, {}
    for pid, parent, ticks in _processes():
        parents[pid], used_s[pid] = parent, ticks / _TICKS_PER_S
    del parents[root]
    return sum(used_s[pid] for pid in used_s if root in (line := _ancestry(pid, parents)) and without not in line)


def _processes() -> Iterator[tuple[int, int, int]]:
    """Id, parent and clock ticks of each."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name in brackets may hold anything, brackets too.
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            # In user mode and in the kernel's, its own and that of its children that have ended.
            yield int(folder.name), int(fields[1]), sum(map(int, fields[11:15]))


def _ancestry(pid: int, parents: dict[int, int]) -> list[int]:
    """The process, its parent, and so on."""
    line = [pid]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line
