"""The examples in README and tutorial work as they stand there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).resolve().parents[2]


def code_blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of `language` in a document of the repository, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)


def named_files(document: str) -> dict[str, str]:
    """The blocks of Python whose first line is a comment with a file's name, by that name."""
    blocks = code_blocks(document, "python")
    return {match[1]: block for block in blocks if (match := re.match(r"# (\w+\.py)\n", block))}


def test_the_readme_example_has_fifteen_lines() -> None:
    (code,) = code_blocks("README.md", "python")
    assert len([line for line in code.splitlines() if line]) == 15


@pytest.mark.timeout(180)
def test_the_readme_example_sends_rows_until_it_is_stopped_when_pasted_into_an_interpreter(tmp_path: Path) -> None:
    (code,) = code_blocks("README.md", "python")
    seen: set[int] = set()
    with pasted(code, tmp_path) as output:
        for line in output:
            if line.startswith("[{"):
                seen |= {row["id"] for row in json.loads(line)}
            if seen >= set(range(20)):
                break
    assert seen >= set(range(20)), (tmp_path / "errors").read_text()


@contextmanager
def pasted(code: str, folder: Path) -> Iterator[IO[str]]:
    """An interactive interpreter that was given `code`: its output. Spark dies with it at the end of the block."""
    script = folder / "pasted"
    script.write_text(code)
    with script.open() as source, (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-i", "-q"],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            text=True,
            start_new_session=True,
        )
    with process:
        assert process.stdout
        try:
            yield process.stdout
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_each_of_the_readmes_two_commands_stands_alone() -> None:
    commands = [block.strip() for block in code_blocks("README.md", "sh") if "tox run" in block]
    start = "python3 -m venv .venv && .venv/bin/pip install -q tox && .venv/bin/tox run"
    assert commands == [f"{start} -e demo", start]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tutorial's files in it."""
    for name, code in named_files("docs/tutorial.md").items():
        (tmp_path / name).write_text(code)
    return tmp_path


@pytest.fixture
def api(folder: Path) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "api.py"], cwd=folder, stderr=subprocess.DEVNULL) as process:
        yield
        process.terminate()


def run(script: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(180)
@pytest.mark.usefixtures("api")
def test_in_the_tutorial_all_orders_arrive_although_every_fifth_request_is_throttled(folder: Path) -> None:
    run("orders.py", folder)
    run("stream.py", folder)
    assert run("check.py", folder) == "2000 orders received, 0 of them twice\n"
    run("orders.py", folder)
    run("stream.py", folder)
    assert run("check.py", folder) == "4000 orders received, 0 of them twice\n"
    requests = (folder / "received.jsonl").read_text().splitlines()
    assert len(requests) >= 40
