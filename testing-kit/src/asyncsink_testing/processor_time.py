"""Processor time of processes, as Linux counts it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from asyncsink_testing.chaos.processes import descendants

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
    return {each.pid: each.processor_s for each in descendants(root, without)}


def spent_s(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """What was used between two looks at a tree.

    A process that has ended between them does not count. Spark's daemon has the kernel forget its workers, and it ends
    those that have had nothing to do for a minute: in a sum over the tree all that they ever did would be missing.
    """
    return sum(used_s - before.get(pid, 0.0) for pid, used_s in after.items())
