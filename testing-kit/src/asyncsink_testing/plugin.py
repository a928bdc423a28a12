"""The pytest plugin: gives every check its test, and says at the end how each connector did.

It is loaded wherever the kit is installed, so it imports nothing but pytest until a connector is under test.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from asyncsink_testing.conformance import Check, SinkConformance
    from asyncsink_testing.report import Report

_PROPERTY = "asyncsink-conformance"
_OUTCOMES = frozenset({"passed", "failed", "skipped"})


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("asyncsink", "conformance of asyncsink connectors")
    group.addoption(
        "--asyncsink-report", metavar="FILE", help="write what each check of each connector came to, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncsink_check: a check of the conformance kit")
    config.addinivalue_line("markers", "asyncsink_spark: a check that sends rows through Spark, which takes seconds")
    config.pluginmanager.register(_Outcomes(config), "asyncsink-conformance")


def pytest_pycollect_makeitem(obj: object) -> None:
    """Refuse a class that lacks what its checks need, once and in words, before pytest looks into it."""
    suite = _conformance_class(obj)
    if suite is None or not suite.__test__:
        return
    from asyncsink_testing.conformance.suite import check_suite

    try:
        check_suite(suite)
    except TypeError as error:
        raise pytest.Collector.CollectError(str(error)) from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    suite = _conformance_class(metafunc.cls)
    if suite is None or metafunc.function is not suite.test_conformance:
        return
    from asyncsink_testing.conformance import all_checks

    parameters = [pytest.param(check, id=check.id, marks=_marks(suite, check)) for check in all_checks()]
    metafunc.parametrize("conformance_check", parameters)


def _conformance_class(found: object) -> type[SinkConformance] | None:
    """What was found, if it is a class of checks; none can be before the module of their base is imported."""
    loaded = sys.modules.get("asyncsink_testing.conformance.suite")
    if loaded is None or not isinstance(found, type) or not issubclass(found, loaded.SinkConformance):
        return None
    return found


def _marks(suite: type[SinkConformance], check: Check) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.asyncsink_check, *([pytest.mark.asyncsink_spark] if check.group == "spark" else [])]
    if check.id in suite.waived:
        # pytest.fail, by which a check says that its waiver is not needed, raises no Exception.
        marks.append(pytest.mark.xfail(strict=True, raises=Exception, reason=suite.waived[check.id]))
    return marks


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    decides = report.when == "call" or not report.passed
    if decides and item.get_closest_marker("asyncsink_check") is not None:
        from asyncsink_testing.report import described

        # As a property of the report it also comes from the workers of pytest-xdist.
        report.user_properties.append((_PROPERTY, described(item, report)))
    return report


class _Outcomes:
    """Gathers what the checks of one session came to."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._gathered: Report | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test that another plugin is going to repeat has an outcome of that plugin's own.
        if report.outcome in _OUTCOMES:
            for name, value in report.user_properties:
                if name == _PROPERTY and isinstance(value, dict):
                    self._report().add(value)

    def _report(self) -> Report:
        if self._gathered is None:
            from asyncsink_testing.report import Report

            self._gathered = Report()
        return self._gathered

    def pytest_sessionfinish(self) -> None:
        path, option = self._path(), self._config.option
        if path is not None and not hasattr(self._config, "workerinput") and not option.collectonly:
            self._report().write(path)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self._gathered.lines() if self._gathered else []:
            terminalreporter.write_line(line)
        if self._path() and not (self._gathered and self._gathered.lines()):
            terminalreporter.write_line(f"asyncsink conformance: no check was run, and {self._path()} says so")

    def _path(self) -> Path | None:
        given = self._config.getoption("asyncsink_report")
        return self._config.invocation_params.dir / given if given else None
