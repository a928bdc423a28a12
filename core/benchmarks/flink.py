"""Flink's own AsyncSinkWriter in a JVM that stays warm while ours and its runs take turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from asyncsink_testing.bench import Run

HARNESS = Path(__file__).with_name("jvm") / "FlinkWriter.java"
COMPILER = "org.codehaus.janino.SimpleCompiler"
PACKAGE = "apache-flink-libraries"


@contextmanager
def running_flink(entries: int, *, made: bool) -> Iterator[tuple[str, Run]]:
    """The peer's name with its version, and what writes so many entries through it and returns ns an entry.

    :param made: whether its converter makes an entry of each element, as those of Flink's connectors do
    """
    how = "made" if made else "taken"
    command = [java(), "-cp", f"{jars()}/*", COMPILER, str(HARNESS), HARNESS.stem, str(entries), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as jvm:
        asked, answers = jvm.stdin, jvm.stdout
        assert asked is not None
        assert answers is not None

        def run() -> float:
            asked.write("\n")
            asked.flush()
            return float(answers.readline())

        if answers.readline() != "ready\n":
            sys.exit(f"{HARNESS.name} did not start; its error is above")
        try:
            yield f"Flink {version(PACKAGE)}, entries {how}", run
        finally:
            asked.close()


def java() -> str:
    """The Java of ``JAVA_HOME``, else the one on ``PATH``; ``.ci/with_java.py`` brings one where there is none."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return found or sys.exit("no Java found; start this with `python .ci/with_java.py python ...`")


def jars() -> Path:
    """The folder of Flink's jars."""
    spec = find_spec("pyflink")
    folders = [] if spec is None else [Path(each, "lib") for each in spec.submodule_search_locations or ()]
    found = next((each for each in folders if each.is_dir()), None)
    return found or sys.exit(f"Flink's jars are missing; install {PACKAGE}")
