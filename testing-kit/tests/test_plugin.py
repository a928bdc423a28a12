"""What the checks come to in pytest, on the terminal and in the report: nothing passes that was not checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# In place of the kit's checks these, whose outcomes are known.
FEW = """
from asyncsink_testing import checks
from asyncsink_testing.conformance import check

checks.load = lambda: None


@check("passes", since="0.1")
async def passes(trial):
    '''It passes.'''


@check("breaks", since="0.1")
async def breaks(trial):
    '''It fails where the connector is called broken.'''
    if "broken" in trial.subject.connector:
        trial.fail("row 7 is lost")


@check("partial", since="0.1", asks=["partial_failure"])
async def partial(trial):
    '''It does not apply.'''


@check("comes", since="0.2", level="upcoming")
async def comes(trial):
    '''It fails where the connector is called broken.'''
    if "broken" in trial.subject.connector:
        trial.fail("row 8 is lost")
"""

HEAD = """
from contextlib import asynccontextmanager

import pytest

from asyncsink_testing import Capabilities, InProcessDestination, SinkConformance


@asynccontextmanager
async def opened():
    with InProcessDestination.opened() as destination:
        yield destination


class Base(SinkConformance):
    __test__ = False
    destination_level = "in process"
    capabilities = Capabilities(
        guarantee="at-least-once", ordering="none", partial_failure=False, atomic_requests=False, idempotent=False,
        rejects_entries=False, retry_after=False, keeps_state=False, commits=False, max_batch_entries=None,
        max_batch_bytes=None, max_record_bytes=None, client_modules=(),
    )

    @pytest.fixture
    def destination(self):
        return opened

    @pytest.fixture
    def sink_options(self):
        return {}

"""

SUITES = """
class TestGood(Base):
    connector = "good"


class TestBroken(Base):
    connector = "broken"


class TestWaived(Base):
    connector = "broken-waived"
    waived = {"breaks": "It is made so."}


class TestNeedless(Base):
    connector = "needless"
    waived = {"passes": "Nobody has looked."}


class TestWaivesWhatDoesNotApply(Base):
    connector = "inapplicable"
    waived = {"partial": "It has none."}


@pytest.mark.skip(reason="not today")
class TestSkipped(Base):
    connector = "skipped"


@pytest.mark.xfail(reason="I know")
class TestExcused(Base):
    connector = "broken-excused"


class TestDown(Base):
    connector = "down"
    waived = {"breaks": "It is made so."}

    @pytest.fixture
    def destination(self):
        raise RuntimeError("the service is down")


class TestLeaks(Base):
    connector = "leaks"

    @pytest.fixture
    def destination(self):
        yield opened
        raise RuntimeError("the service does not stop")


class TestBothGood(Base):
    connector = "both"


class TestBothSkipped(Base):
    connector = "both"
    pytestmark = pytest.mark.skip(reason="not today")


class OfAnotherName(Base):
    connector = "of-another-name"
"""


@dataclass(frozen=True)
class Run:
    """One run of pytest in a process of its own."""

    status: int
    output: str
    report: Mapping[str, Any]

    def of(self, connector: str) -> dict[str, Any]:
        found = [each for each in self.report["connectors"] if each["connector"] == connector]
        assert len(found) == 1
        return dict(found[0])

    def outcomes(self, connector: str) -> dict[str, str]:
        return {each["id"]: each["outcome"] for each in self.of(connector)["checks"]}

    def reason(self, connector: str, check: str) -> str:
        return next(str(each["reason"]) for each in self.of(connector)["checks"] if each["id"] == check)

    def line(self, connector: str) -> str:
        start = f"asyncsink conformance: {connector} "
        lines = [line.removeprefix(start) for line in self.output.splitlines() if line.startswith(start)]
        assert len(lines) == 1
        return lines[0].rpartition(" (kit ")[0]


def run(folder: Path, suites: str, *arguments: str) -> Run:
    (folder / "few.py").write_text(FEW)
    (folder / "test_suites.py").write_text(HEAD + suites)
    # Nothing of the run that this test belongs to may reach that one.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_") and name != "CI"}
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    # Without the plugins that happen to be installed here: some of them take longer to load than all of these checks.
    environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "asyncsink_testing.plugin", "-p", "few", "-W", "error"]
    command += ["--strict-markers", "--strict-config", "--rootdir", str(folder), "-p", "no:cacheprovider", *arguments]
    command += ["--asyncsink-report", "reports/conformance.json"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    path = folder / "reports" / "conformance.json"
    report = json.loads(path.read_text()) if path.exists() else {}
    return Run(done.returncode, done.stdout + done.stderr, report)


@pytest.fixture(scope="module")
def all_suites(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every suite at once, with settings that would leave all of them out."""
    folder = tmp_path_factory.mktemp("suites")
    return run(folder, SUITES, "-o", "python_classes=Nothing", "-o", "python_functions=nothing")


@pytest.mark.parametrize(
    ("connector", "line", "outcomes"),
    [
        ("good", "2/2, 1 n/a", ("passed", "passed", "not applicable", "passed")),
        ("broken", "1/2, 1 failed, 1 n/a, 1 upcoming failed", ("passed", "failed", "not applicable", "failed")),
        ("broken-waived", "1/2, 1 waived, 1 n/a, 1 upcoming failed", ("passed", "waived", "not applicable", "failed")),
        ("needless", "1/2, 1 failed, 1 n/a", ("failed", "passed", "not applicable", "passed")),
        ("inapplicable", "2/3, 1 failed", ("passed", "passed", "failed", "passed")),
        ("skipped", "0/3, 3 not run", ("not run",) * 4),
        ("broken-excused", "1/2, 1 failed, 1 n/a, 1 upcoming failed", ("passed", "failed", "not applicable", "failed")),
        ("down", "0/3, 3 failed, 1 upcoming failed", ("failed",) * 4),
        ("leaks", "0/3, 3 failed, 1 upcoming failed", ("failed",) * 4),
        ("both", "0/3, 3 not run", ("not run",) * 4),
        ("of-another-name", "2/2, 1 n/a", ("passed", "passed", "not applicable", "passed")),
    ],
)
def test_each_outcome_is_told_as_what_it_is(
    all_suites: Run, connector: str, line: str, outcomes: tuple[str, ...]
) -> None:
    found = all_suites.outcomes(connector)
    assert found == dict(zip(("passes", "breaks", "partial", "comes"), outcomes, strict=True))
    assert all_suites.line(connector) == line
    assert all_suites.of(connector)["summary"] == line


@pytest.mark.parametrize(
    ("connector", "check", "reason"),
    [
        ("good", "passes", ""),
        ("good", "partial", "the capabilities say partial_failure = False"),
        ("broken", "breaks", "row 7 is lost"),
        ("broken", "comes", "upcoming since kit 0.2: row 8 is lost"),
        ("broken-waived", "breaks", "It is made so."),
        ("needless", "passes", "check 'passes' is waived and holds; drop the waiver"),
        ("inapplicable", "partial", "'partial' is waived and not applicable"),
        ("skipped", "passes", "not today"),
        ("down", "passes", "the service is down"),
        ("leaks", "passes", "the service does not stop"),
    ],
)
def test_what_did_not_pass_has_its_reason(all_suites: Run, connector: str, check: str, reason: str) -> None:
    found = all_suites.reason(connector, check)
    assert reason in found if reason else found == ""


def test_a_failure_shows_the_check_and_not_how_it_was_run(tmp_path: Path) -> None:
    done = run(tmp_path, SUITES, "-k", "TestBroken and breaks")
    assert "It fails where the connector is called broken." in done.output
    assert "row 7 is lost" in done.output
    assert "run_check" not in done.output
    assert "anyio/_backends" not in done.output


def test_counts_are_of_required_checks_and_the_run_fails_with_its_checks(all_suites: Run) -> None:
    counts = {"passed": 1, "failed": 1, "waived": 0, "not applicable": 1, "not run": 0}
    assert all_suites.of("broken")["counts"] == counts
    assert all_suites.status == pytest.ExitCode.TESTS_FAILED
    assert all_suites.report.keys() == {"kit", "core", "connectors"}
    names = [each["connector"] for each in all_suites.report["connectors"]]
    assert names == sorted(names)


@pytest.mark.parametrize("suite", ["TestGood", "TestWaived"])
def test_a_connector_passes_with_a_waiver_and_with_an_upcoming_check_that_fails(tmp_path: Path, suite: str) -> None:
    done = run(tmp_path, SUITES, f"test_suites.py::{suite}")
    assert done.status == pytest.ExitCode.OK, done.output


@pytest.mark.parametrize("arguments", [("-k", "TestBroken and passes"), ("-k", "TestBroken", "-x")])
def test_checks_that_were_deselected_or_lost_are_not_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(tmp_path, SUITES, *arguments)
    assert done.outcomes("broken")["partial"] == "not run"
    assert "it was deselected, or the run ended before it" in done.reason("broken", "partial")
    assert "not run" in done.line("broken")


def test_a_run_without_checks_says_that_its_report_is_empty(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_something_else(): pass")
    assert done.status == pytest.ExitCode.OK
    assert done.report["connectors"] == []
    assert "asyncsink conformance: no check was run" in done.output


def test_collecting_alone_writes_no_report(tmp_path: Path) -> None:
    done = run(tmp_path, SUITES, "--collect-only", "-q")
    assert (done.status, done.report) == (pytest.ExitCode.OK, {})
    assert "TestGood::test_conformance[breaks]" in done.output


def test_a_suite_that_lacks_something_is_one_error_in_words(tmp_path: Path) -> None:
    done = run(tmp_path, "class TestNobody(Base): pass")
    assert done.status == pytest.ExitCode.INTERRUPTED
    assert done.output.count("TestNobody does not name its connector") == 1
    assert "Traceback" not in done.output


def test_a_waiver_of_nothing_is_one_error_in_words(tmp_path: Path) -> None:
    done = run(tmp_path, 'class TestSlip(Base):\n    connector = "slip"\n    waived = {"break": "It is made so."}\n')
    assert done.status == pytest.ExitCode.INTERRUPTED
    assert "TestSlip waives 'break', which is no check of the kit; did you mean 'breaks'?" in done.output


def test_the_plugin_imports_nothing_but_pytest() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import asyncsink_testing.plugin\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["asyncsink_testing"]
