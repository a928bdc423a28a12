"""What is written of several results for one check, and of a connector that several classes test."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from asyncsink_testing.conformance import all_checks
from asyncsink_testing.report import Outcome, Report, Result

CHECKS = [each.id for each in all_checks() if each.level == "required"]


def report_of(*results: Result) -> Report:
    report = Report()
    for each in results:
        report.add(asdict(each))
    return report


def result(outcome: Outcome, check: str = CHECKS[0], suite: str = "TestParrot", level: str = "wire") -> Result:
    return Result("parrot", level, suite, check, outcome, f"why {outcome}")


def outcome_of(report: Report, check: str = CHECKS[0]) -> str:
    [connector] = report
    return str({each.id: connector.result(each).outcome for each in all_checks()}[check])


ORDER: list[Outcome] = ["failed", "not run", "waived", "passed", "not applicable"]


@pytest.mark.parametrize(("worse", "better"), [(a, b) for n, a in enumerate(ORDER) for b in ORDER[n + 1 :]])
@pytest.mark.parametrize("suites", [("TestParrot", "TestParrot"), ("TestParrot", "TestOther")])
def test_the_worst_result_of_a_check_counts(worse: Outcome, better: Outcome, suites: tuple[str, str]) -> None:
    one, other = result(worse, suite=suites[0]), result(better, suite=suites[1])
    assert outcome_of(report_of(one, other)) == outcome_of(report_of(other, one)) == worse


def test_a_check_that_one_of_two_classes_did_not_run_is_not_run() -> None:
    report = report_of(result("passed"), result("passed", CHECKS[1], "TestOther"))
    assert {outcome_of(report, check) for check in CHECKS} == {"not run"}


def test_levels_of_destination_are_reported_apart() -> None:
    lines = report_of(result("passed"), result("failed", level="in process")).lines()
    assert [line.rpartition(", ")[2] for line in lines] == ["in process)", "wire)"]


def test_a_line_counts_the_passed_of_those_that_apply() -> None:
    outcomes: list[Outcome] = ["not applicable", "waived", *["passed"] * (len(CHECKS) - 2)]  # type: ignore[list-item]
    [line] = report_of(*map(result, outcomes, CHECKS)).lines()
    rest = ", 1 waived, 1 n/a (kit "
    assert line.startswith(f"asyncsink conformance: parrot {len(CHECKS) - 2}/{len(CHECKS) - 1}{rest}")


def test_a_connector_that_is_not_installed_has_no_distribution() -> None:
    [data] = report_of(result("passed")).as_data()["connectors"]
    assert (data["distribution"], data["version"]) == (None, None)
    described = {each["id"]: each for each in data["checks"]}[CHECKS[0]]
    assert (described["outcome"], described["reason"]) == ("passed", "why passed")
