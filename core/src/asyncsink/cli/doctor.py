"""All checks in a row, and what they found as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from asyncsink.cli.checks.connectors import check_connectors
from asyncsink.cli.checks.interpreter import check_interpreters
from asyncsink.cli.checks.java import check_java
from asyncsink.cli.checks.packages import check_packages
from asyncsink.cli.checks.shims import check_shims
from asyncsink.cli.finding import Finding
from asyncsink.cli.machine import Machine

CHECKS: Final[tuple[Callable[[Machine], Sequence[Finding]], ...]] = (
    check_packages,
    check_interpreters,
    check_java,
    check_connectors,
    check_shims,
)


def examine(machine: Machine) -> list[Finding]:
    """Everything that every check found, in order."""
    return [*chain.from_iterable(check(machine) for check in CHECKS)]


def failed(findings: Sequence[Finding]) -> bool:
    """Whether one of the findings is an error."""
    return any(each.level == "error" for each in findings)


def rendered(findings: Sequence[Finding]) -> str:
    """A line for each finding, its remedy below it, and a last line that counts."""
    lines: list[str] = []
    for each in findings:
        lines.append(f"{each.level:<8} {each.check}: {each.message}")
        if each.remedy:
            lines.append(f"{'':<8} -> {each.remedy}")
    errors, warnings = (sum(each.level == level for each in findings) for level in ("error", "warning"))
    return "\n".join([*lines, f"errors: {errors}, warnings: {warnings}, findings: {len(findings)}"])
