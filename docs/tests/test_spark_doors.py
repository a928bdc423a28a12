"""The page on the doors of Spark works as it stands there, from its first block to its SQL."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from asyncsink_testing.http_server import serving

DOCUMENT = Path(__file__).resolve().parents[1] / "how-to" / "spark-doors.md"
URL = "https://api.example.com/rows"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.timeout(300)
def test_every_block_of_the_page_runs_after_the_others(tmp_path: Path) -> None:
    (tmp_path / "incoming").mkdir()
    (tmp_path / "incoming" / "0.json").write_text('{"id": 3, "name": "tea"}\n')
    statements = [each.strip() for each in blocks("sql")[0].split(";") if each.strip()]
    program = "\n".join([*blocks("python"), *(f"spark.sql({json.dumps(each)})" for each in statements), "spark.stop()"])
    with serving() as server:
        (tmp_path / "program.py").write_text(program.replace(URL, server.url))
        done = subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, env={"PYSPARK_PYTHON": sys.executable, **os.environ},
            capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        rows = Counter(json.dumps(row) for request in server.stored for row in json.loads(request.body))
    assert rows == {
        '{"id": 1, "name": "tea"}': 4,
        '{"id": 2, "name": "milk"}': 4,
        '{"id": 3, "name": "tea"}': 2,
        '{"order": 1, "text": "TEA"}': 1,
        '{"order": 2, "text": "MILK"}': 1,
        '{"name": "tea", "count": 1}': 1,
        '{"id": 0, "name": "milk"}': 1,
        '{"id": 1, "name": "milk"}': 1,
        '{"id": 0, "name": "cheese"}': 1,
        '{"id": 1, "name": "cheese"}': 1,
    }
