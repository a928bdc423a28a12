"""Processor time of processes, as Linux counts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def tree_s(root: int) -> float:
    """What a process and all that it or one of these has started have used, with those that have ended since.

    One that has ended counts with its parent, from when that has taken note of its end.
    """
    parents, used_s = {}, {}
    for pid, parent, ticks in _processes():
        parents[pid], used_s[pid] = parent, ticks / _TICKS_PER_S
    return sum(seconds for pid, seconds in used_s.items() if _descends(pid, root, parents))


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


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid != ancestor and pid in parents:
        pid = parents[pid]
    return pid == ancestor
