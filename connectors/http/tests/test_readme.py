from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio

from asyncsink_http import HttpOptions
from asyncsink_testing import serving

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_program_runs_as_it_stands() -> None:
    program = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "import anyio" in block)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "README.md", "exec"), names)
    with serving() as server:
        anyio.run(names["main"], server.url)
    rows = [json.loads(line) for request in server.stored for line in request.body.splitlines()]
    assert sorted(row["id"] for row in rows) == list(range(1000))


def test_every_option_stands_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("\n## ")[0]
    for option in HttpOptions.describe():
        assert f"`{option.name}" in table, f"option {option.name} is not in the README"
