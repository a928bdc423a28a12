"""The tutorial's sink with a committer does what the page says, also where its program is killed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "tutorial" / "a-sink-with-a-committer.md").read_text()
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) for line in block.split("\n")
]
RUNS = [line.split()[2:] for line in COMMANDS if line.startswith("python run.py")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(code)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "run.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=50, check=False)


def numbers(folder: Path) -> list[int]:
    lines = [line for path in (folder / "output").glob("*-*") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["number"] for line in lines)


def test_the_commands_of_the_page_give_what_it_says(folder: Path) -> None:
    killed, whole = RUNS
    assert run(folder, *killed).returncode == -signal.SIGKILL
    assert numbers(folder) == [*range(2000)]
    done = run(folder, *whole)
    assert done.returncode == 0, done.stderr
    assert f"`{done.stdout.strip()}`" in PAGE
    assert numbers(folder) == [*range(10000)]


def test_what_a_run_was_killed_over_is_given_up_by_the_next(folder: Path) -> None:
    """It has staged a file and is killed before it can decide that this is committed."""
    run(folder, "1000", "500")
    left = folder / "output" / "staged" / f"{log_id(folder)}-1-0-0-1"
    left.parent.mkdir(parents=True)
    left.write_text("half a line")
    foreign = left.with_name("0123456789abcdef-1-0-0-1")
    foreign.write_text("another sink's")
    run(folder, "1000")
    assert not left.exists()
    assert foreign.exists()
    assert numbers(folder) == [*range(1000)]


def log_id(folder: Path) -> str:
    (found,) = re.findall(r'"id": ?"([0-9a-f]{16})"', (folder / "state" / "transactions" / "id").read_text())
    return str(found)
