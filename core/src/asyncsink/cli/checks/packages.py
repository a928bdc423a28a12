"""Whether PySpark and the packages it needs are here, in versions that work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from asyncsink.cli.checks.interpreter import Interpreter, probe
from asyncsink.cli.finding import Finding, Level
from asyncsink.cli.machine import Machine


class _Rule(NamedTuple):
    package: str
    least: tuple[int, int]
    below: tuple[int, int] | None
    missing: Level
    reason: str


# The bounds are those of the distribution's extras `arrow` and `spark`.
RULES: Final = (
    _Rule("pyspark", (4, 0), None, "error", "older ones have no Arrow writers for Python data sources"),
    _Rule("pyarrow", (18, 0), None, "error", "rows reach a sink as Arrow batches"),
    _Rule("numpy", (1, 26), None, "error", "blocks of Arrow rows count their bytes with it"),
    _Rule("pandas", (2, 2), (3, 0), "warning", "PySpark does not support others"),
)


def check_packages(machine: Machine) -> Sequence[Finding]:
    """PySpark, pyarrow, numpy and pandas of this interpreter."""
    here = probe(machine, machine.executable)
    # The check of the interpreters reports one that does not answer.
    return [_check(here, rule) for rule in RULES] if isinstance(here, Interpreter) else []


def _check(here: Interpreter, rule: _Rule) -> Finding:
    name, found = rule.package, here.packages[rule.package]
    wanted = f">={_dotted(rule.least)}" + (f",<{rule.below[0]}" if rule.below else "")
    remedy = f"{here.executable} -m pip install '{name}{wanted}'"
    if found is None:
        return Finding(name, rule.missing, f"{name} is not installed in {here.prefix}; {rule.reason}", remedy)
    version = re.match(r"(\d+)\.(\d+)", found)
    if version is None:
        return Finding(
            name, "warning", f"{name} is here {found}, so its version is unknown; it must be {wanted}", remedy
        )
    parts = (int(version[1]), int(version[2]))
    if parts < rule.least or (rule.below is not None and parts >= rule.below):
        level: Level = "error" if parts < rule.least else "warning"
        return Finding(name, level, f"{name} {found} is here, but it must be {wanted}: {rule.reason}", remedy)
    return Finding(name, "ok", f"{name} {found}")


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
