"""How many branches of the writer's modules the simulation reaches by itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncsink.writer

LEAST = 95.0
"""Per cent of the branches."""


def measure(seeds: Iterable[int], run: Callable[[int], object]) -> int:
    """Run the seeds under coverage.py and print the branches not taken; the exit status is 1 if too many are left."""
    tool: Any = import_module("coverage")
    folder = Path(str(asyncsink.writer.__file__)).parent
    excluded = ["if TYPE_CHECKING:", "class .*Protocol", "assert "]
    with TemporaryDirectory() as directory:
        cover = tool.Coverage(branch=True, source=[str(folder)], data_file=None)
        cover.set_option("report:exclude_also", excluded)
        cover.start()
        for seed in seeds:
            run(seed)
        cover.stop()
        report = Path(directory) / "coverage.json"
        cover.json_report(outfile=str(report))
        found = json.loads(report.read_text(encoding="utf-8"))
    for path, each in sorted(found["files"].items()):
        if each["missing_branches"]:
            shown = ", ".join(f"{start}->{'exit' if stop < 0 else stop}" for start, stop in each["missing_branches"])
            sys.stdout.write(f"{Path(path).name}: {shown}\n")
    taken, all_branches = found["totals"]["covered_branches"], found["totals"]["num_branches"]
    share = 100.0 * taken / all_branches
    sys.stdout.write(f"branches of the writer {all_branches}, reached {taken}: {share:.1f} %, asked for {LEAST} %\n")
    return 0 if share >= LEAST else 1
