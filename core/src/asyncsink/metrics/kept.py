"""Metrics that outlive the writers of a batch: which are kept, and how those of all tasks become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

Together = Literal["sum", "max"]
"""Counters of tasks are added up; of gauges the largest says most."""

_TOGETHER: Final[Mapping[Together, Callable[[Iterable[float]], float]]] = {"sum": sum, "max": max}


def kept(snapshot: Mapping[str, Any], wanted: Mapping[str, Together]) -> dict[str, float]:
    """The numbers of a snapshot whose names match one of the patterns, such as ``cluster.*.numBytesOut``."""
    return {
        name: value
        for name, value in snapshot.items()
        if isinstance(value, int | float) and _found(name, wanted) is not None
    }


def together(tasks: Iterable[Mapping[str, float]], wanted: Mapping[str, Together]) -> dict[str, float]:
    """Those of all tasks, by their names and in the order of these."""
    values: dict[str, list[float]] = {}
    for task in tasks:
        for name, value in task.items():
            values.setdefault(name, []).append(value)
    return {name: _TOGETHER[_found(name, wanted) or "sum"](found) for name, found in sorted(values.items())}


def _found(name: str, wanted: Mapping[str, Together]) -> Together | None:
    return next((how for pattern, how in wanted.items() if fnmatchcase(name, pattern)), None)
