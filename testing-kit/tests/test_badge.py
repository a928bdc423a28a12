"""Badges say what a report says, in a colour that hides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asyncsink_testing.cli import run

NONE = {"passed": 0, "failed": 0, "not run": 0, "waived": 0, "not applicable": 0}


def connector(level: str = "wire", name: str = "http", **counts: Any) -> dict[str, Any]:
    named = {key.replace("_", " "): value for key, value in counts.items()}
    return {"connector": name, "destination_level": level, "summary": "41/42", "counts": NONE | named}


def written(path: Path, *connectors: dict[str, Any]) -> tuple[Path, Path]:
    report, folder = path / "conformance.json", path / "badges" / "here"
    report.write_text(json.dumps({"kit": "0.3.1", "connectors": connectors}))
    text, status = run(["badge", str(report), "--output", str(folder)])
    assert status == 0
    assert all(str(each) in text for each in folder.iterdir())
    return report, folder


@pytest.mark.parametrize(
    ("counts", "color"),
    [
        ({"passed": 42}, "brightgreen"),
        ({"passed": 40, "not_applicable": 2}, "brightgreen"),
        ({"passed": 41, "waived": 1}, "yellow"),
        ({"passed": 41, "failed": 1}, "red"),
        ({"passed": 41, "not_run": 1}, "red"),
        ({"passed": 40, "waived": 1, "not_run": 1}, "red"),
        ({"not_applicable": 42}, "red"),
    ],
)
def test_the_colour_is_that_of_the_worst(tmp_path: Path, counts: dict[str, Any], color: str) -> None:
    _, folder = written(tmp_path, connector(**counts))
    badge = json.loads((folder / "http-badge.json").read_text())
    assert badge == {"schemaVersion": 1, "label": "asyncsink conformance", "message": "41/42", "color": color}


def test_each_connector_has_a_badge_and_each_level_of_one_that_has_several(tmp_path: Path) -> None:
    _, folder = written(tmp_path, connector(), connector("in process"), connector(name="files"))
    names = ["files-badge.json", "http-in-process-badge.json", "http-wire-badge.json"]
    assert sorted(each.name for each in folder.iterdir()) == names


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no report"),
        ("[]", "is no report"),
        ('{"kit": "0.3.1"}', "is no report"),
        ('{"connectors": [1]}', "is no report"),
        ('{"connectors": []}', "names no connector"),
        ('{"connectors": [{"connector": "http"}]}', "names no connector"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, told: str) -> None:
    report = tmp_path / "conformance.json"
    report.write_text(text)
    said, status = run(["badge", str(report), "--output", str(tmp_path)])
    assert status == 1
    assert told in said
    assert "--asyncsink-report" in said
    assert [each.name for each in tmp_path.iterdir()] == ["conformance.json"]


def test_a_report_that_is_not_there_is_named(tmp_path: Path) -> None:
    said, status = run(["badge", str(tmp_path / "nowhere.json")])
    assert status == 1
    assert "nowhere.json" in said
