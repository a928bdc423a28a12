"""Whether Spark finds the connectors by name.

On the first use of an unknown format Spark imports every top-level module that starts with ``pyspark_``, and one of
them that raises hides all the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from asyncsink.cli.finding import Finding
from asyncsink.cli.machine import Machine, Outcome
from asyncsink.plugins import available

_LIST: Final = """
import json
from pkgutil import iter_modules
print(json.dumps(sorted({each.name for each in iter_modules() if each.name.startswith("pyspark_")})))
"""

_HARMLESS: Final = 3
"""The status of a look-up that found why one of our shims gives no data source: it hides no other."""

# What Spark does with each of them; our own shims keep the error that they may not raise.
_LOOK_UP: Final = f"""
import sys
from importlib import import_module
from pyspark.sql.datasource import DataSource
module = import_module(sys.argv[1])
failure = getattr(module, "FAILURE", None)
if isinstance(failure, Exception):
    print(f"{{type(failure).__name__}}: {{failure}}", file=sys.stderr)
    sys.exit({_HARMLESS})
if hasattr(module, "DefaultSource") and issubclass(module.DefaultSource, DataSource):
    print(module.DefaultSource.name())
"""


def check_shims(machine: Machine) -> Sequence[Finding]:
    """Every ``pyspark_*`` module, each in a process of its own, and whether each connector has one."""
    if machine.run([machine.executable, "-c", "import pyspark"]).status != 0:
        return []  # reported by the check of the packages
    listed = machine.run([machine.executable, "-c", _LIST])
    if listed.status != 0:
        return [Finding("shims", "error", f"the modules cannot be listed: {listed.last_line}", "check PYTHONPATH")]
    formats: set[str] = set()
    findings: list[Finding] = []
    for module in json.loads(listed.stdout):
        outcome = machine.run([machine.executable, "-c", _LOOK_UP, module])
        findings.append(_finding(module, outcome))
        formats.update(outcome.stdout.split() if outcome.status == 0 else ())
    return [*findings, *_missing(formats)]


def _finding(module: str, outcome: Outcome) -> Finding:
    name = f"shim {module}"
    if outcome.status != 0:
        what = "gives no data source" if outcome.status == _HARMLESS else "hides every Python data source"
        remedy = f"reinstall or remove the distribution that brings {module}.py"
        return Finding(name, "error", f"it does not import and {what}: {outcome.last_line}", remedy)
    found = outcome.stdout.strip()
    return Finding(name, "ok", f'gives format("{found}")' if found else "gives no data source")


def _missing(formats: set[str]) -> Iterator[Finding]:
    wanted = {"asyncsink": "asyncsink-core"}
    wanted.update((f"asyncsink.{each.name}", each.distribution or "") for each in available() if each.distribution)
    for name, distribution in wanted.items():
        if name not in formats:
            yield Finding(
                "shims",
                "error",
                f'no module pyspark_{name.replace(".", "_").replace("-", "_")} gives format("{name}")',
                f"pip install --force-reinstall {distribution}",
            )
