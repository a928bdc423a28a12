"""The page on what became of rows shows what the code says, and its program and its settings work."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from asyncsink.cli import run
from asyncsink.cli.machine import Machine
from asyncsink.errors import LedgerError
from asyncsink.ledger import FOLDER, BatchProgress, Ledger, LedgerState, open_store
from asyncsink.options.door import DoorOptions
from asyncsink.spark import recovery
from asyncsink.spark.commit import TaskCommit, log_progress, summed
from asyncsink_testing.http_server import HttpRequest, Reaction, serving

PAGE = (Path(__file__).resolve().parents[1] / "how-to" / "what-became-of-my-rows.md").read_text()
QUERY = "3b6d6c1c-6a1f-4d0e-9a53-0c9a3a5f7f10"
NOON_MS = 1_767_268_800_000
THERE = "/data/checkpoint"


def batch(batch_id: int) -> BatchProgress:
    """The sixth is throttled, the seventh has rows that are refused."""
    throttled, refused = 180 if batch_id == 6 else 0, 3 if batch_id == 7 else 0
    return BatchProgress(
        sink="http",
        query_id=QUERY,
        batch_id=batch_id,
        committed_at_ms=NOON_MS + 30_000 * batch_id,
        tasks=4,
        rows_in=2_000,
        rows=2_000 - refused,
        dead_lettered=refused,
        bytes=96_000,
        requests=8 + throttled // 60,
        retried=throttled,
        throttled=throttled,
        limit=480,
        writers=4,
        slowest_task_s=0.412,
        request_p50_s=0.031,
        request_p99_s=0.094,
    )


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A query that was killed after its last commit, before Spark noted it."""
    folder = tmp_path / "checkpoint"
    for name in ("commits", "offsets"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": QUERY}))
    ledger = Ledger(open_store(str(folder)).within(FOLDER).within("http"))
    for batch_id in range(8):
        learned = {"1f3a9c2b7d5e/None": (b"congestion:500", b"congestion:480")}
        ledger.commit(LedgerState(query_id=QUERY, batch_id=batch_id, writers=4, learned=learned), batch(batch_id))
        (folder / "offsets" / str(batch_id)).write_text("v1")
        (folder / "commits" / str(batch_id - 1)).write_text("v1")
    return folder


def shown_after(heading: str) -> list[str]:
    """The blocks of text in one section of the page, line breaks aside."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```\w+\n(.*?)\n```$", section, re.DOTALL | re.MULTILINE)


def status(checkpoint: Path, *arguments: str) -> str:
    text, code = run(["status", str(checkpoint), *arguments], Machine.here())
    assert code == 0
    return text.replace(str(checkpoint), THERE)


def test_the_page_shows_what_status_prints(checkpoint: Path) -> None:
    text, document = shown_after("From a terminal")
    command, _, printed = text.partition("\n")
    assert command == f"$ python -m asyncsink status {THERE} --last 3"
    assert printed == status(checkpoint, "--last", "3")
    assert json.loads(document) == json.loads(status(checkpoint, "--last", "1", "--json"))


def test_the_page_has_a_row_for_each_field_of_a_file_of_progress() -> None:
    meanings = dict(re.findall(r":param (\w+): (.+)", BatchProgress.__doc__ or ""))
    rows = [f"| `{each.name}` | {meanings[each.name].replace('``', '`')} |" for each in fields(BatchProgress)]
    assert "\n".join(["| field | meaning |", "| --- | --- |", *rows, ""]) in PAGE


def test_the_page_shows_the_line_of_a_commit(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "asyncsink"):
        log_progress(batch(7))
    (record,) = caplog.records
    assert shown_after("In the log")[0] == f"{record.levelname} {record.name}: {record.getMessage()}"


def test_the_page_shows_the_warning_of_a_stream_without_a_ledger(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_said", set())
    assert recovery.recover("http", DoorOptions(), streaming=True) is None
    assert [" ".join(each.split("\n")) for each in shown_after("When there is no ledger")] == caplog.messages


def test_the_page_shows_what_keeps_a_query_from_starting(checkpoint: Path) -> None:
    door = DoorOptions(checkpoint_location=str(checkpoint))
    recovered = recovery.recover("http", door, streaming=True)
    assert recovered is not None
    said = []
    with pytest.raises(LedgerError) as caught:
        recovered.is_committed(5)
    said.append(caught.value)
    tasks = [TaskCommit(0, query_id=QUERY, is_kept=True, skipped=True, rows_in=2_500)]
    with pytest.raises(LedgerError) as caught:
        recovery.keep("http", door, True, summed("http", 7, tasks), tasks)
    said.append(caught.value)
    with pytest.raises(LedgerError) as caught:
        recovered.is_of("9c1f8e52-7d0b-4b57-8f0e-2f6f3f1f0a44")
    said.append(caught.value)
    (checkpoint / FOLDER / "http" / "state.json").write_text("")
    with pytest.raises(LedgerError) as caught:
        recovery.recover("http", door, streaming=True)
    said.append(caught.value)
    shown = [each.replace("\n", " ") for each in shown_after("When Spark and the ledger differ")]
    assert shown == [str(each).replace(str(checkpoint), THERE) for each in said]


def answer(request: HttpRequest) -> Reaction:
    return Reaction.OK


@pytest.mark.timeout(180)
def test_the_program_tells_each_batch_and_the_settings_show_its_line(tmp_path: Path) -> None:
    (program,) = shown_after("While the query runs")
    (tmp_path / "watched.py").write_text(program)
    (tmp_path / "sitecustomize.py").write_text(shown_after("In the log")[1])
    (tmp_path / "incoming").mkdir()
    for number in range(2):
        (tmp_path / "incoming" / f"{number}.txt").write_text("a row\n" * 3)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with serving(answer) as server:
        done = subprocess.run(
            [sys.executable, "watched.py", server.url],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("batch")] == [
        "batch 0: 3 of 3 rows stored",
        "batch 1: 3 of 3 rows stored",
    ]
    for number in range(2):
        assert f"INFO asyncsink.spark.commit: asyncsink.http batch {number}: 3 rows (" in done.stderr
