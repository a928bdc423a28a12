"""What the checks of one run came to, for people, for machines and for a README."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import pytest

from asyncsink_testing.conformance import Check, all_checks
from asyncsink_testing.conformance.suite import SinkConformance

Outcome = Literal["passed", "failed", "waived", "not applicable", "not run"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one check of one connector came to, and why if it did not pass."""

    connector: str
    destination_level: str
    id: str
    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class ConnectorReport:
    """One connector at one level of destination."""

    connector: str
    destination_level: str
    results: dict[str, Result] = field(default_factory=dict)

    def outcome(self, check: Check) -> Outcome:
        found = self.results.get(check.id)
        return "not run" if found is None else found.outcome

    @property
    def counts(self) -> Counter[Outcome]:
        """How many checks of the kit came to what; those that were left out count as not run."""
        return Counter(self.outcome(check) for check in all_checks() if check.level == "required")

    def summary(self) -> str:
        """``41/42, 1 waived, 2 n/a``: the passed ones of those that apply, then the rest."""
        counts = self.counts
        applicable = sum(counts.values()) - counts["not applicable"]
        parts = [f"{counts['passed']}/{applicable}"]
        names: dict[Outcome, str] = {"failed": "failed", "waived": "waived", "not applicable": "n/a"}
        parts += [f"{counts[outcome]} {name}" for outcome, name in names.items() if counts[outcome]]
        if counts["not run"]:
            parts.append(f"{counts['not run']} not run")
        return ", ".join(parts)

    def line(self) -> str:
        """What the terminal shows."""
        return (
            f"asyncsink conformance: {self.connector} {self.summary()} (kit {kit_version()}, {self.destination_level})"
        )

    def as_data(self) -> dict[str, Any]:
        distribution, released = _distribution(self.connector)
        checks = [
            {
                "id": check.id,
                "group": check.group,
                "level": check.level,
                "outcome": self.outcome(check),
                "reason": self.results[check.id].reason if check.id in self.results else "",
            }
            for check in all_checks()
        ]
        return {
            "connector": self.connector,
            "distribution": distribution,
            "version": released,
            "destination_level": self.destination_level,
            "summary": self.summary(),
            "counts": dict(self.counts),
            "checks": checks,
        }


class Report:
    """The connectors of one run of pytest."""

    def __init__(self) -> None:
        self.connectors: dict[tuple[str, str], ConnectorReport] = {}

    def add(self, data: dict[str, Any]) -> None:
        """Take in what :func:`described` made of one test."""
        result = Result(**data)
        key = result.connector, result.destination_level
        self.connectors.setdefault(key, ConnectorReport(*key)).results[result.id] = result

    def lines(self) -> list[str]:
        return [each.line() for each in self.connectors.values()]

    def as_data(self) -> dict[str, Any]:
        versions = {"kit": kit_version(), "core": _version("asyncsink-core")}
        return {**versions, "connectors": [each.as_data() for each in self.connectors.values()]}

    def write(self, path: str | Path) -> None:
        """Write it as JSON."""
        text = json.dumps(self.as_data(), indent=2, ensure_ascii=False)
        Path(path).write_text(text + "\n", encoding="utf-8")


def described(item: pytest.Item, report: pytest.TestReport) -> dict[str, Any]:
    """One test of one check as plain data, as it may cross from process to process."""
    suite: type[SinkConformance] = item.cls  # type: ignore[attr-defined]
    check: Check = item.callspec.params["conformance_check"]  # type: ignore[attr-defined]
    outcome, reason = _outcome(report, check)
    return asdict(Result(suite.connector, suite.destination_level, check.id, outcome, reason))


def _outcome(report: pytest.TestReport, check: Check) -> tuple[Outcome, str]:
    waived = getattr(report, "wasxfail", None)
    if report.passed:
        return "passed", ""
    if report.skipped and waived is not None:
        return ("waived" if check.level == "required" else "failed"), str(waived)
    if report.skipped:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        return "not applicable", str(reason).removeprefix("Skipped: ").removeprefix("not applicable: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return "failed", str(getattr(crash, "message", report.longrepr))


def kit_version() -> str:
    return _version("asyncsink-testing")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def _distribution(connector: str) -> tuple[str | None, str | None]:
    from asyncsink.options.names import folded
    from asyncsink.plugins import available

    for each in available():
        if folded(each.name) == folded(connector):
            return each.distribution, each.version
    return None, None
