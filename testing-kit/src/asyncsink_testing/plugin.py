"""The pytest plugin: gives every check its test, and says at the end how each connector did.

It is loaded wherever the kit is installed, so it imports nothing but pytest until a connector is under test.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from asyncsink_testing.report import Report

_REPORT = pytest.StashKey["Report"]()
_PROPERTY = "asyncsink-conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("asyncsink", "conformance of asyncsink connectors")
    group.addoption(
        "--asyncsink-report", metavar="FILE", help="write what each check of each connector came to, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncsink_check: a check of the conformance kit")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conformance_check" not in metafunc.fixturenames or metafunc.cls is None:
        return
    from asyncsink_testing.conformance import SinkConformance, all_checks

    suite = metafunc.cls
    if not issubclass(suite, SinkConformance):
        return
    parameters = []
    for check in all_checks():
        marks: list[Any] = [pytest.mark.asyncsink_check]
        if check.id in suite.waived:
            marks.append(pytest.mark.xfail(strict=True, reason=suite.waived[check.id]))
        elif check.level != "required":
            marks.append(pytest.mark.xfail(strict=False, reason=f"{check.level} since kit {check.since}"))
        parameters.append(pytest.param(check, id=check.id, marks=marks))
    metafunc.parametrize("conformance_check", parameters)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    decides = report.when == "call" or (report.when == "setup" and not report.passed)
    if decides and item.get_closest_marker("asyncsink_check") is not None:
        from asyncsink_testing.report import described

        # As a property of the report it also comes from the workers of pytest-xdist.
        report.user_properties.append((_PROPERTY, described(item, report)))
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(_Collector(session.config), "asyncsink-conformance")


class _Collector:
    """Gathers the outcomes of one session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                self._report().add(value)  # type: ignore[arg-type]

    def _report(self) -> Report:
        if _REPORT not in self._config.stash:
            from asyncsink_testing.report import Report

            self._config.stash[_REPORT] = Report()
        return self._config.stash[_REPORT]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if _REPORT in self._config.stash:
            for line in self._config.stash[_REPORT].lines():
                terminalreporter.write_line(line)

    def pytest_sessionfinish(self) -> None:
        path = self._config.getoption("asyncsink_report")
        if path and not hasattr(self._config, "workerinput"):
            self._report().write(path)
