"""The checks through Spark: each is proved by a connector over HTTP that is broken in one way, as the others are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutants import Mutant, all_mutants
from mutants.spark import WirePackage
from reference import registered, subject_of
from wire import wire_subject

from asyncsink_testing.conformance import Check, ConformanceError, NotApplicableError, all_checks, run_check

CHECKS = [each for each in all_checks() if each.group == "spark"]
MUTANTS = [each for each in all_mutants() if each.through_spark]
CONNECTORS = Path(__file__).with_name("connectors")

through_spark = [pytest.mark.asyncsink_spark, pytest.mark.timeout(300)]
"""Spark takes seconds to start, and much longer on a machine that is busy."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An installation of them all, on the path of this Python and, before Spark is started, of Spark's."""
    folder = tmp_path_factory.mktemp("site")
    for package in (WirePackage, *(each.package for each in MUTANTS)):
        assert package is not None
        package.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        known = [str(folder), str(CONNECTORS), *filter(None, [os.environ.get("PYTHONPATH")])]
        patch.setenv("PYTHONPATH", os.pathsep.join(known))
        yield


def failed(connector: str) -> dict[str, str]:
    """The checks through Spark that fail, each with what it says."""
    told: dict[str, str] = {}
    for check in CHECKS:
        try:
            run_check(check, wire_subject(connector))
        except ConformanceError as error:
            told[check.id] = str(error)
    return told


@pytest.mark.parametrize("check", [pytest.param(each, marks=through_spark, id=each.id) for each in CHECKS])
def test_a_connector_that_does_all_right_passes(check: Check, site: None) -> None:
    run_check(check, wire_subject(WirePackage.name))


@pytest.mark.parametrize("mutant", [pytest.param(each, marks=through_spark, id=each.name) for each in MUTANTS])
def test_a_mutant_fails_exactly_its_checks(mutant: Mutant, site: None) -> None:
    told = failed(mutant.name)
    assert set(told) == mutant.fails, "\n\n".join(f"{name}: {message}" for name, message in told.items())


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_they_do_not_apply_where_the_destination_is_in_process(check: Check) -> None:
    with registered("unsparked", "reference:ReferenceSink"):
        with pytest.raises(NotApplicableError, match="lives in this process, and Spark's workers in others"):
            run_check(check, subject_of("unsparked"))


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_they_do_not_apply_where_pyspark_is_not_installed(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(NotApplicableError, match=r"^PySpark is not installed: pip install asyncsink-testing\[spark\]"):
        run_check(check, wire_subject("wire"))


SUITE = """
import pytest
from asyncsink_testing import SinkConformance
from reference import CAPABILITIES, reference_destination


class TestSelected(SinkConformance):
    connector = "selected"
    capabilities = CAPABILITIES

    @pytest.fixture
    def destination(self):
        return reference_destination

    @pytest.fixture
    def sink_options(self):
        return {}
"""


@pytest.mark.parametrize(("marked", "groups"), [("asyncsink_spark", {True}), ("not asyncsink_spark", {False})])
def test_a_marker_selects_them_or_leaves_them_out(marked: str, groups: set[bool], tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "asyncsink_testing.plugin", "--strict-markers", "--collect-only"]
    command += ["-q", "-m", marked, "--rootdir", str(tmp_path), "-p", "no:cacheprovider", "test_suite.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    found = {line.partition("[")[2].rstrip("]") for line in done.stdout.splitlines() if "::" in line}
    expected = {each.id for each in all_checks() if (each.group == "spark") in groups}
    assert found == expected
