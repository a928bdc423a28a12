"""Whether the Python that Spark will start is fit for its work."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from asyncsink.cli.finding import Finding, Level
from asyncsink.cli.machine import Machine
from asyncsink.plugins import available

DISTRIBUTIONS: Final = {
    "asyncsink": "asyncsink-core",
    "pyspark": "pyspark",
    "pyarrow": "pyarrow",
    "numpy": "numpy",
    "pandas": "pandas",
}
"""Module and distribution of each package that matters to every sink."""

_LEVELS: Final[dict[str, tuple[Level, Level]]] = {
    "pyarrow": ("error", "warning"),
    "numpy": ("error", "warning"),
    "pandas": ("warning", "warning"),
}
"""How bad it is that a package is missing, and that it has another version; without an entry both are errors."""

_PROBE: Final = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

def found(module, distribution):
    if find_spec(module) is None:
        return None
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "without metadata"

packages = {module: found(module, distribution) for module, distribution in wanted.items()}
python = ".".join(map(str, sys.version_info[:3]))
print(json.dumps({"executable": sys.executable, "prefix": sys.prefix, "python": python, "packages": packages}))
"""


def distributions() -> dict[str, str]:
    """Module and distribution of each package that matters, the connectors that can be used here included."""
    connectors = {
        each.package: each.distribution
        for each in available()
        if each.package and each.distribution and not each.disabled
    }
    return {**DISTRIBUTIONS, **connectors}


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python and the versions of the packages that matter; None for one that is missing."""

    executable: str
    prefix: str
    python: str
    packages: dict[str, str | None]

    @property
    def minor(self) -> str:
        return ".".join(self.python.split(".")[:2])


def probe(machine: Machine, executable: str) -> Interpreter | str:
    """Ask an interpreter about itself; a string says why it did not answer."""
    outcome = machine.run([executable, "-c", f"wanted = {distributions()!r}\n{_PROBE}"])
    if outcome.status != 0:
        return outcome.last_line
    try:
        return Interpreter(**json.loads(outcome.stdout))
    except (ValueError, TypeError):
        return "it is no Python interpreter"


def check_interpreters(machine: Machine) -> Sequence[Finding]:
    """The interpreters of Spark's driver side and of its workers, against this one."""
    this = probe(machine, machine.executable)
    if isinstance(this, str):
        return [Finding("interpreter", "error", f"{machine.executable} does not answer: {this}", "reinstall Python")]
    environ = machine.environ
    worker = environ.get("PYSPARK_PYTHON") or "python3"
    driver = environ.get("PYSPARK_DRIVER_PYTHON") or worker
    names = {worker: "PYSPARK_PYTHON" if environ.get("PYSPARK_PYTHON") else "python3 on PATH"}
    names.setdefault(driver, "PYSPARK_DRIVER_PYTHON")
    return [finding for name, origin in names.items() for finding in _check(machine, this, name, origin)]


def _check(machine: Machine, this: Interpreter, name: str, origin: str) -> Iterator[Finding]:
    remedy = f"export {'PYSPARK_DRIVER_PYTHON' if 'DRIVER' in origin else 'PYSPARK_PYTHON'}={this.executable}"
    path = machine.which(name)
    other = probe(machine, path) if path else "there is no such program"
    if isinstance(other, str):
        yield Finding("interpreter", "error", f"Spark will start {name} ({origin}), but {other}", remedy)
        return
    said = f"Spark will start {other.executable} ({origin})"
    problems = [*_problems(this, other)]
    for level, problem in problems:
        yield Finding("interpreter", level, f"{said}, {problem}", remedy)
    if not problems:
        yield Finding("interpreter", "ok", f"{said}, Python {other.python}, which has what it needs")


def _problems(this: Interpreter, other: Interpreter) -> Iterator[tuple[Level, str]]:
    if other.minor != this.minor:
        yield "error", f"which is Python {other.python}, but this one is {this.python}"
    for module, distribution in distributions().items():
        theirs, ours = other.packages.get(module), this.packages.get(module)
        missing, differs = _LEVELS.get(module, ("error", "error"))
        if theirs is None:
            yield missing, f"which has no {distribution}"
        elif ours is not None and theirs != ours:
            yield differs, f"which has {distribution} {theirs}, but this one has {ours}"
