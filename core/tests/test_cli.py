from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncsink.cli import run
from asyncsink.cli.checks.connectors import check_connectors
from asyncsink.cli.checks.interpreter import Interpreter, check_interpreters, distributions, probe
from asyncsink.cli.checks.java import check_java
from asyncsink.cli.checks.packages import RULES, check_packages
from asyncsink.cli.checks.shims import check_shims
from asyncsink.cli.doctor import failed, rendered
from asyncsink.cli.finding import Finding
from asyncsink.cli.listing import ListedConnector, rows, table
from asyncsink.cli.machine import Machine, Outcome, run_command
from asyncsink.plugins import API_VERSION, ConnectorInfo, available, hookimpl, register, unregister

PACKAGES: dict[str, str | None] = {
    **dict.fromkeys(distributions(), "0.1.0"),
    "pyspark": "4.3.0",
    "pyarrow": "21.0.0",
    "numpy": "2.1.0",
    "pandas": "2.3.3",
}
THIS = "/env/bin/python"


def interpreter(path: str = THIS, /, *, version: str = "3.11.9", **packages: Any) -> dict[str, Any]:
    prefix = path.removesuffix("/bin/python")
    return {"executable": path, "prefix": prefix, "python": version, "packages": PACKAGES | packages}


class FakeMachine:
    """Programs by path: an interpreter's answer about itself, or how the program ends for any arguments."""

    def __init__(
        self, programs: Mapping[str, dict[str, Any] | Outcome], modules: Mapping[str, Outcome] | None = None
    ) -> None:
        self.programs = dict(programs)
        self.modules = dict(modules or {})

    def run(self, command: Sequence[str]) -> Outcome:
        program = self.programs[command[0]]
        if isinstance(program, Outcome):
            return program
        if len(command) > 3:
            return self.modules[command[3]]
        if "iter_modules" in command[2]:
            return Outcome(0, json.dumps(sorted(self.modules)))
        if command[2] == "import pyspark":
            return Outcome(int(program["packages"]["pyspark"] is None))
        return Outcome(0, json.dumps(program))

    def machine(self, **environ: str) -> Machine:
        by_name = {"python3": "/usr/bin/python3", "java": "/usr/bin/java"}

        def which(name: str) -> str | None:
            path = by_name.get(name, name)
            return path if path in self.programs else None

        return Machine(environ, THIS, which, self.run)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connector that is installed, as far as its metadata go."""
    info = tmp_path / "asyncsink_toy-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: asyncsink-toy\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[asyncsink]\ntoy = asyncsink_toy._plugin\n")
    monkeypatch.syspath_prepend(tmp_path)


def java(text: str) -> Outcome:
    return Outcome(0, stderr=text)


def levels(findings: Sequence[Finding]) -> list[str]:
    return [each.level for each in findings]


def test_spark_on_this_interpreter_is_fine() -> None:
    findings = check_interpreters(FakeMachine({THIS: interpreter()}).machine(PYSPARK_PYTHON=THIS))
    assert levels(findings) == ["ok"]
    assert (
        findings[0].message
        == "Spark will start /env/bin/python (PYSPARK_PYTHON), Python 3.11.9, which has what it needs"
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (interpreter("/usr/bin/python3", pyspark=None), "which has no pyspark"),
        (interpreter("/usr/bin/python3", pyarrow=None), "which has no pyarrow"),
        (interpreter("/usr/bin/python3", asyncsink=None), "which has no asyncsink-core"),
        (interpreter("/usr/bin/python3", asyncsink="0.2"), "which has asyncsink-core 0.2, but this one has 0.1.0"),
        (interpreter("/usr/bin/python3", pyspark="4.2.1"), "which has pyspark 4.2.1, but this one has 4.3.0"),
        (interpreter("/usr/bin/python3", version="3.12.1"), "which is Python 3.12.1, but this one is 3.11.9"),
    ],
)
def test_an_unfit_python3_on_the_path_is_an_error_with_the_export_that_helps(
    other: dict[str, Any], expected: str
) -> None:
    findings = check_interpreters(FakeMachine({THIS: interpreter(), "/usr/bin/python3": other}).machine())
    assert findings == [
        Finding(
            "interpreter",
            "error",
            f"Spark will start /usr/bin/python3 (python3 on PATH), {expected}",
            "export PYSPARK_PYTHON=/env/bin/python",
        )
    ]


@pytest.mark.parametrize(
    ("package", "version", "level", "sentence"),
    [
        ("pyarrow", "19.0.0", "warning", "which has pyarrow 19.0.0, but this one has 21.0.0"),
        ("numpy", None, "error", "which has no numpy"),
        ("numpy", "2.2.0", "warning", "which has numpy 2.2.0, but this one has 2.1.0"),
        ("pandas", None, "warning", "which has no pandas"),
        ("asyncsink_toy", None, "error", "which has no asyncsink-toy"),
        ("asyncsink_toy", "0.2.0", "error", "which has asyncsink-toy 0.2.0, but this one has 0.1.0"),
    ],
)
def test_what_a_worker_needs_is_compared(
    package: str, version: str | None, level: str, sentence: str, toy: None
) -> None:
    this = interpreter(asyncsink_toy="0.1.0")
    packages: dict[str, Any] = {"asyncsink_toy": "0.1.0", package: version}
    other = interpreter("/usr/bin/python3", **packages)
    (finding,) = check_interpreters(FakeMachine({THIS: this, "/usr/bin/python3": other}).machine())
    assert finding.level == level
    assert finding.message == f"Spark will start /usr/bin/python3 (python3 on PATH), {sentence}"


def test_a_worker_is_asked_for_the_connectors_of_this_interpreter(toy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert distributions()["asyncsink_toy"] == "asyncsink-toy"
    found = probe(Machine({}, sys.executable, lambda name: name, run_command), sys.executable)
    assert isinstance(found, Interpreter)
    assert found.packages["asyncsink_toy"] is None, "it has no module, only metadata"
    monkeypatch.setenv("ASYNCSINK_DISABLED", "toy")
    assert "asyncsink_toy" not in distributions()


def test_another_numpy_and_pyarrow_are_warnings() -> None:
    other = interpreter("/usr/bin/python3", pyarrow="17.0.0", numpy="1.26.4")
    findings = check_interpreters(FakeMachine({THIS: interpreter(), "/usr/bin/python3": other}).machine())
    assert levels(findings) == ["warning", "warning"]


def test_an_interpreter_that_is_not_there_is_an_error() -> None:
    findings = check_interpreters(FakeMachine({THIS: interpreter()}).machine(PYSPARK_PYTHON="/gone/python"))
    assert [each.message for each in findings] == [
        "Spark will start /gone/python (PYSPARK_PYTHON), but there is no such program"
    ]
    assert failed(findings)


def test_a_driver_python_that_is_no_interpreter_is_found_beside_a_good_worker() -> None:
    machine = FakeMachine({THIS: interpreter(), "jupyter": Outcome(0, "usage: jupyter")})
    findings = check_interpreters(machine.machine(PYSPARK_PYTHON=THIS, PYSPARK_DRIVER_PYTHON="jupyter"))
    assert levels(findings) == ["ok", "error"]
    assert findings[1].message == "Spark will start jupyter (PYSPARK_DRIVER_PYTHON), but it is no Python interpreter"
    assert findings[1].remedy == "export PYSPARK_DRIVER_PYTHON=/env/bin/python"


def test_an_interpreter_that_fails_shows_its_last_line() -> None:
    broken = Outcome(1, stderr="Traceback\nImportError: no module named site\n")
    findings = check_interpreters(FakeMachine({THIS: interpreter(), "/usr/bin/python3": broken}).machine())
    assert findings[0].message.endswith("but ImportError: no module named site")


def test_this_interpreter_tells_of_itself() -> None:
    machine = Machine({"PYSPARK_PYTHON": sys.executable}, sys.executable, lambda name: name, run_command)
    assert {each.check for each in check_interpreters(machine)} == {"interpreter"}
    assert all(sys.executable in each.message for each in check_interpreters(machine))


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "25-ea" 2025-09-16', 25),
    ],
)
def test_a_java_that_is_new_enough_is_fine(text: str, major: int) -> None:
    findings = check_java(FakeMachine({"/usr/bin/java": java(text)}).machine())
    assert findings == [Finding("java", "ok", f"/usr/bin/java (PATH) is Java {major}")]


@pytest.mark.parametrize(("text", "major"), [('java version "1.8.0_392"', 8), ('openjdk version "11.0.2"', 11)])
def test_an_old_java_is_an_error(text: str, major: int) -> None:
    findings = check_java(FakeMachine({"/usr/bin/java": java(text)}).machine())
    assert findings[0].message == f"/usr/bin/java (PATH) is Java {major}; Spark 4 needs 17"
    assert failed(findings)


def test_java_home_comes_before_the_path() -> None:
    home = str(Path("/jdk", "bin", "java"))
    programs = {home: java('version "21.0.1"'), "/usr/bin/java": java('version "1.8.0"')}
    assert levels(check_java(FakeMachine(programs).machine(JAVA_HOME="/jdk"))) == ["ok"]


def test_a_java_home_without_java_is_an_error_even_if_the_path_has_one() -> None:
    findings = check_java(FakeMachine({"/usr/bin/java": java('version "21"')}).machine(JAVA_HOME="/empty"))
    assert findings[0].message == "there is no Java in JAVA_HOME=/empty; Spark cannot start"
    assert findings[0].remedy == "install Java 17 or newer and set JAVA_HOME to its folder"


def test_a_java_that_does_not_run_is_an_error() -> None:
    findings = check_java(
        FakeMachine({"/usr/bin/java": Outcome(1, stderr="Unable to locate a Java Runtime.")}).machine()
    )
    assert findings[0].message == "/usr/bin/java does not tell its version: Unable to locate a Java Runtime."


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ({}, {}),
        ({"pyspark": "4.0.0", "pyarrow": "18.0.0", "numpy": "1.26.0"}, {}),
        ({"pyspark": "3.5.7"}, {"pyspark": "error"}),
        ({"pyspark": None}, {"pyspark": "error"}),
        ({"pyarrow": "17.0.0"}, {"pyarrow": "error"}),
        ({"pyarrow": None}, {"pyarrow": "error"}),
        ({"numpy": "1.25.2"}, {"numpy": "error"}),
        ({"numpy": None}, {"numpy": "error"}),
        ({"pandas": "3.0.0"}, {"pandas": "warning"}),
        ({"pandas": None}, {"pandas": "warning"}),
        ({"pyspark": "without metadata"}, {"pyspark": "warning"}),
    ],
)
def test_packages_must_be_in_their_range(packages: dict[str, Any], expected: dict[str, str]) -> None:
    findings = check_packages(FakeMachine({THIS: interpreter(THIS, **packages)}).machine())
    fine = dict.fromkeys(("pyspark", "pyarrow", "numpy", "pandas"), "ok")
    assert {each.check: each.level for each in findings} == fine | expected
    assert all(bool(each.remedy) == (each.level != "ok") for each in findings)


def test_the_range_of_each_package_is_the_one_that_the_distribution_declares() -> None:
    declared = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
    extras = {each for extra in ("arrow", "spark") for each in declared["optional-dependencies"][extra]}
    for rule in RULES:
        least = ".".join(map(str, rule.least)).removesuffix(".0")
        assert f"{rule.package}>={least}{f',<{rule.below[0]}' if rule.below else ''}" in extras


def test_the_remedy_for_a_package_is_a_command_that_can_be_pasted() -> None:
    findings = check_packages(FakeMachine({THIS: interpreter(pandas="3.0.0")}).machine())
    assert findings[3].message == "pandas 3.0.0 is here, but it must be >=2.2,<3: PySpark does not support others"
    assert findings[3].remedy == "/env/bin/python -m pip install 'pandas>=2.2,<3'"


def test_a_broken_module_is_an_error_because_it_hides_every_source() -> None:
    modules = {
        "pyspark_asyncsink": Outcome(0, "asyncsink\n"),
        "pyspark_broken": Outcome(1, stderr="Traceback\nNameError: name 'x' is not defined\n"),
        "pyspark_helper": Outcome(0, ""),
    }
    findings = check_shims(FakeMachine({THIS: interpreter()}, modules).machine())
    by_name = {each.check: each for each in findings}
    assert by_name["shim pyspark_broken"].level == "error"
    assert by_name["shim pyspark_broken"].message == (
        "it does not import and hides every Python data source: NameError: name 'x' is not defined"
    )
    assert by_name["shim pyspark_asyncsink"].message == 'gives format("asyncsink")'
    assert by_name["shim pyspark_helper"].message == "gives no data source"


def test_a_shim_that_kept_its_error_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyspark" / "sql").mkdir(parents=True)
    (tmp_path / "pyspark" / "sql" / "datasource.py").write_text("class DataSource: pass")
    (tmp_path / "pyspark_kept.py").write_text("FAILURE = ImportError('No module named x')")
    (tmp_path / "pyspark_raises.py").write_text("import a_module_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    findings = {each.check: each for each in check_shims(Machine({}, sys.executable, lambda name: name, run_command))}
    assert findings["shim pyspark_kept"].message == (
        "it does not import and gives no data source: ImportError: No module named x"
    )
    assert findings["shim pyspark_raises"].message == (
        "it does not import and hides every Python data source: "
        "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"
    )


def test_a_missing_shim_is_an_error() -> None:
    findings = check_shims(FakeMachine({THIS: interpreter()}, {}).machine())
    expected = Finding(
        "shims",
        "error",
        'no module pyspark_asyncsink gives format("asyncsink")',
        "pip install --force-reinstall asyncsink-core",
    )
    assert expected in findings


def test_without_pyspark_the_shims_are_not_looked_at() -> None:
    assert check_shims(FakeMachine({THIS: interpreter(pyspark=None)}).machine()) == []


class BrokenPlugin:
    @hookimpl
    def asyncsink_connector(self) -> ConnectorInfo:
        return ConnectorInfo("broken-toy", "nowhere.at_all:Sink", "nowhere.at_all:Options", API_VERSION)


@pytest.fixture
def broken_toy() -> Iterator[None]:
    register(BrokenPlugin(), "broken-toy")
    yield
    unregister("broken-toy")


def test_a_connector_that_does_not_load_is_an_error_of_the_doctor(broken_toy: None) -> None:
    findings = [each for each in check_connectors(FakeMachine({}).machine()) if "broken-toy" in each.check]
    assert levels(findings) == ["error"]
    assert "No module named 'nowhere'" in findings[0].message


def test_a_disabled_connector_is_a_warning(broken_toy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSINK_DISABLED", "broken_toy")
    findings = [each for each in check_connectors(FakeMachine({}).machine()) if "broken-toy" in each.check]
    assert levels(findings) == ["warning"]
    assert [each.status for each in rows() if each.connector == "broken-toy"] == ["disabled"]


def test_the_list_has_a_line_for_each_connector() -> None:
    listed = [
        ListedConnector("http", "asyncsink-http", "0.1.0", "at-least-once", "ok"),
        ListedConnector("kafka-fast", "asyncsink-kafka-fast", "2.0", "-", "failed"),
    ]
    assert table(listed).splitlines() == [
        "connector   distribution          version  guarantees     status",
        "http        asyncsink-http        0.1.0    at-least-once  ok",
        "kafka-fast  asyncsink-kafka-fast  2.0      -              failed",
    ]


def test_an_empty_list_says_what_to_install() -> None:
    assert table([]) == "no connector is installed; pip install asyncsink-http, for example"


def test_list_as_json_holds_the_same_rows(broken_toy: None) -> None:
    text, status = run(["list", "--json"], FakeMachine({}).machine())
    assert status == 0
    assert {"connector": "broken-toy", "distribution": "-"}.items() <= json.loads(text)[0].items()


def test_doctor_succeeds_on_a_healthy_machine() -> None:
    formats = ["asyncsink", *(f"asyncsink.{each.name}" for each in available())]
    shims = {f"pyspark_{name.replace('.', '_')}": Outcome(0, name) for name in formats}
    programs: dict[str, dict[str, Any] | Outcome] = {THIS: interpreter(), "/usr/bin/java": java('version "17"')}
    text, status = run(["doctor"], FakeMachine(programs, shims).machine(PYSPARK_PYTHON=THIS))
    assert status == 0
    assert "ok       java: /usr/bin/java (PATH) is Java 17" in text
    assert text.splitlines()[-1].startswith("errors: 0, ")


def test_doctor_fails_if_one_finding_is_an_error() -> None:
    text, status = run(["doctor", "--json"], FakeMachine({THIS: interpreter()}).machine(PYSPARK_PYTHON=THIS))
    assert status == 1
    assert {"check": "java", "level": "error"}.items() <= next(
        x for x in json.loads(text) if x["check"] == "java"
    ).items()


def test_each_finding_is_a_line_with_its_remedy_below_it() -> None:
    findings = [
        Finding("java", "error", "none", "install it"),
        Finding("pandas", "warning", "old"),
        Finding("x", "ok", "y"),
    ]
    assert rendered(findings).splitlines() == [
        "error    java: none",
        "         -> install it",
        "warning  pandas: old",
        "ok       x: y",
        "errors: 1, warnings: 1, findings: 3",
    ]
    assert failed(findings)
    assert not failed(findings[1:])


def test_a_command_that_cannot_start_ends_as_in_a_shell() -> None:
    assert run_command(["/nowhere/at/all"]).status == 127
    assert run_command([sys.executable, "-c", "raise SystemExit(3)"]) == Outcome(3)


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "asyncsink", "list", "--json"], capture_output=True, text=True, check=True
    )
    assert isinstance(json.loads(done.stdout), list)
