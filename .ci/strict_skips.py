"""A pytest plugin: under ``CI=true`` a skipped test is a failed one, so that no check is lost in silence.

tox names it in ``PYTEST_PLUGINS``. An expected failure (``xfail``) is no skip, and neither is a check of the
conformance kit that asks for what a connector's service does not have: unless that is a library, not installed.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

NOT_APPLICABLE = "Skipped: not applicable: "
"""How the conformance kit begins its reasons."""

ReportT = TypeVar("ReportT", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _judged((yield))


def _judged(report: ReportT) -> ReportT:
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if reason.startswith(NOT_APPLICABLE) and "not installed" not in reason:
            return report
        report.outcome = "failed"
        report.longrepr = f"CI=true: a skip is a failure here; install what is missing or drop the test. {reason}"
    return report
