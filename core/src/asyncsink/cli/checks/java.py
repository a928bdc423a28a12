"""Whether Spark finds a Java that is new enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from asyncsink.cli.finding import Finding
from asyncsink.cli.machine import Machine

LEAST: Final = 17
_REMEDY: Final = f"install Java {LEAST} or newer and set JAVA_HOME to its folder"


def check_java(machine: Machine) -> Sequence[Finding]:
    """The Java of JAVA_HOME, or without that of PATH: Spark's launcher takes no other."""
    home = machine.environ.get("JAVA_HOME")
    found = machine.which(str(Path(home, "bin", "java")) if home else "java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    if found is None:
        return [Finding("java", "error", f"there is no Java in {where}; Spark cannot start", _REMEDY)]
    outcome = machine.run([found, "-version"])
    match = re.search(r'version "(\d+)(?:\.(\d+))?', outcome.stderr + outcome.stdout)
    if outcome.status != 0 or match is None:
        return [Finding("java", "error", f"{found} does not tell its version: {outcome.last_line}", _REMEDY)]
    # Up to Java 8 the version began with 1.
    major = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if major < LEAST:
        return [Finding("java", "error", f"{found} ({where}) is Java {major}; Spark 4 needs {LEAST}", _REMEDY)]
    return [Finding("java", "ok", f"{found} ({where}) is Java {major}")]
