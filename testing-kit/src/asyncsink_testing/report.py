"""What the checks of one run came to, for people, for machines and for a README."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal, get_args

import pytest

from asyncsink_testing.conformance import Check, all_checks
from asyncsink_testing.conformance.suite import NOT_APPLICABLE, SinkConformance

Outcome = Literal["failed", "not run", "waived", "passed", "not applicable"]
"""The worst first: where several tests speak of one check of one connector, the worst of them counts."""

_RANK: Final = {outcome: rank for rank, outcome in enumerate(get_args(Outcome))}
_NOT_RUN = "it was deselected, or the run ended before it"


@dataclass(frozen=True, slots=True)
class Result:
    """What one check of one connector came to, and why if it did not pass.

    :param suite: the class that asked
    """

    connector: str
    destination_level: str
    suite: str
    id: str
    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class ConnectorReport:
    """One connector at one level of destination, by all the classes that test it there."""

    connector: str
    destination_level: str
    _suites: dict[str, dict[str, Result]] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Take in a result; of several for one check the worst stays."""
        suite = self._suites.setdefault(result.suite, {})
        suite[result.id] = _worst(result, suite.get(result.id, result))

    def result(self, check: Check) -> Result:
        """What a check came to; "not run" if one of the classes has no result for it."""
        missing = Result(self.connector, self.destination_level, "", check.id, "not run", _NOT_RUN)
        return _worst(*(suite.get(check.id, missing) for suite in self._suites.values()))

    @property
    def counts(self) -> Counter[Outcome]:
        """How many required checks of the kit came to what."""
        return Counter(self.result(check).outcome for check in all_checks() if check.level == "required")

    @property
    def upcoming_failures(self) -> int:
        """The checks that fail nobody yet, and would fail this connector if they were required."""
        others = [check for check in all_checks() if check.level != "required"]
        return sum(self.result(check).outcome == "failed" for check in others)

    def summary(self) -> str:
        """``41/42, 1 waived, 2 n/a``: the passed ones of those that apply, then the rest."""
        counts, upcoming = self.counts, self.upcoming_failures
        applicable = sum(counts.values()) - counts["not applicable"]
        named = {
            "failed": counts["failed"],
            "waived": counts["waived"],
            "n/a": counts["not applicable"],
            "not run": counts["not run"],
            "upcoming failed": upcoming,
        }
        others = [f"{count} {name}" for name, count in named.items() if count]
        return ", ".join([f"{counts['passed']}/{applicable}", *others])

    def line(self) -> str:
        """What the terminal shows."""
        minor = ".".join(kit_version().split(".")[:2])
        return f"asyncsink conformance: {self.connector} {self.summary()} (kit {minor}, {self.destination_level})"

    def as_data(self) -> dict[str, Any]:
        """What the report says of this connector, as JSON has it."""
        distribution, released = _distribution(self.connector)
        counts = self.counts
        return {
            "connector": self.connector,
            "distribution": distribution,
            "version": released,
            "destination_level": self.destination_level,
            "summary": self.summary(),
            "counts": {outcome: counts[outcome] for outcome in get_args(Outcome)},
            "checks": [self._described(check) for check in all_checks()],
        }

    def _described(self, check: Check) -> dict[str, str]:
        result = self.result(check)
        described = {"id": check.id, "group": check.group, "level": check.level, "since": check.since}
        return {**described, "outcome": result.outcome, "reason": result.reason}


class Report:
    """The connectors of one run of pytest."""

    def __init__(self) -> None:
        self._connectors: dict[tuple[str, str], ConnectorReport] = {}

    def __iter__(self) -> Iterator[ConnectorReport]:
        return iter(each for _, each in sorted(self._connectors.items()))

    def add(self, data: Mapping[str, Any]) -> None:
        """Take in what :func:`described` made of one test."""
        result = Result(**data)
        key = result.connector, result.destination_level
        self._connectors.setdefault(key, ConnectorReport(*key)).add(result)

    def lines(self) -> list[str]:
        """A line for each connector."""
        return [each.line() for each in self]

    def as_data(self) -> dict[str, Any]:
        """The whole report, as JSON has it."""
        versions = {"kit": kit_version(), "core": _version("asyncsink-core")}
        return {**versions, "connectors": [each.as_data() for each in self]}

    def write(self, path: Path) -> None:
        """Write it as JSON; folders that lack are made."""
        text = json.dumps(self.as_data(), indent=2, ensure_ascii=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")


def described(item: pytest.Item, report: pytest.TestReport) -> dict[str, Any]:
    """One test of one check as plain data, as it may cross from process to process."""
    suite: type[SinkConformance] = item.cls  # type: ignore[attr-defined]
    check: Check = item.callspec.params["conformance_check"]  # type: ignore[attr-defined]
    outcome, reason = _outcome(report, waived=check.id in suite.waived)
    name = item.nodeid.rpartition("::")[0]
    return asdict(Result(suite.connector, suite.destination_level, name, check.id, outcome, reason))


def _outcome(report: pytest.TestReport, *, waived: bool) -> tuple[Outcome, str]:
    if report.passed:
        return "passed", ""
    if not report.skipped:
        crash = getattr(report.longrepr, "reprcrash", None)
        return "failed", str(getattr(crash, "message", report.longrepr))
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        # A mark that an author puts beside `waived` excuses nothing, and neither does a fixture that fails.
        return ("waived" if waived and report.when == "call" else "failed"), str(expected)
    told = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
    reason = str(told).removeprefix("Skipped: ")
    if reason.startswith(NOT_APPLICABLE):
        return "not applicable", reason.removeprefix(NOT_APPLICABLE)
    return "not run", reason


def _worst(*results: Result) -> Result:
    return min(results, key=lambda each: _RANK[each.outcome])


def kit_version() -> str:
    """The version of the kit that is installed."""
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
