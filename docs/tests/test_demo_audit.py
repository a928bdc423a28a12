"""The demo's last line and exit status say what became of the rows, whatever that is."""

from __future__ import annotations

import importlib
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).resolve().parents[1] / "demo"
LINE = "{row},2013,1,1,517,515,2,830,819,NA,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
LINES = [LINE.format(row=row) for row in range(4)]


def as_row(line: str) -> dict[str, Any]:
    """A line of the source as the sink sends it: numbers as numbers, without what is missing."""
    flights = importlib.import_module("flights")
    columns = zip(flights.COLUMNS.items(), line.split(","), strict=True)
    return {name: int(value) if kind == "INT" else value for (name, kind), value in columns if value != flights.MISSING}


def audited(folder: Path, *requests: list[dict[str, Any]], committed: list[str] | None = None) -> int:
    """The demo's exit status, had the server stored these requests and had Spark committed these lines."""
    bodies = [json.dumps(rows).encode() for rows in requests]
    (folder / "stored.log").write_bytes(b"".join(b"%d\n%b\n" % (len(body), body) for body in bodies))
    source = folder / "flights-00.csv"
    source.write_text("".join(f"{line}\n" for line in (LINES if committed is None else committed)))
    entry = json.dumps({"path": f"file://{source}", "timestamp": 0, "batchId": 0})
    for name, text in {"commits/0": "v1\n{}", "offsets/0": "v1\n{}", "sources/0/0": f"v1\n{entry}"}.items():
        path = folder / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    status = runpy.run_path(str(DEMO / "__main__.py"))["report"](LINES, folder, 7, 12.3)
    assert isinstance(status, int)
    return status


@pytest.fixture(autouse=True)
def _modules_of_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DEMO))


def test_rows_that_all_arrived_give_exit_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [as_row(line) for line in LINES]
    assert audited(tmp_path, rows[2:], rows[:2]) == 0
    assert capsys.readouterr().out == (
        "rows sent 4, distinct rows received 4, missing 0, duplicates 0, refused requests 7, seconds 12\n"
    )


def test_a_missing_row_gives_exit_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [as_row(line) for line in LINES]
    assert audited(tmp_path, rows[:1], rows[2:]) == 1
    assert "distinct rows received 3, missing 1, duplicates 0" in capsys.readouterr().out


def test_a_row_that_arrived_twice_is_counted_and_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [as_row(line) for line in LINES]
    assert audited(tmp_path, rows, rows[:2]) == 0
    assert "distinct rows received 4, missing 0, duplicates 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change", [{"dep_delay": 3}, {"tailnum": None}, {"arr_delay": 0}, {"extra": 1}, {"row": 99}, {"row": None}], ids=str
)
def test_a_row_that_arrived_changed_is_missing(
    change: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *others = [as_row(line) for line in LINES]
    assert audited(tmp_path, [{**first, **change}, *others]) == 1
    printed = capsys.readouterr().out
    assert "1 received rows differ from the source" in printed
    assert "distinct rows received 3, missing 1, duplicates 0" in printed


def test_rows_that_spark_never_committed_give_exit_status_1(tmp_path: Path) -> None:
    assert audited(tmp_path, [as_row(line) for line in LINES], committed=LINES[:3]) == 1
