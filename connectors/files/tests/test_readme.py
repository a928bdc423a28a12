"""What the README says is so: its program runs, and its table has every option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio

from asyncsink_files import FilesOptions

from .reading import rows_in

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_program_runs_as_it_stands(tmp_path: Path) -> None:
    program = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "import anyio" in block)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "README.md", "exec"), names)
    for _ in range(2):
        assert anyio.run(names["main"], str(tmp_path)) == 1000
    assert [row["id"] for row in rows_in(tmp_path / "flights")] == [*range(1000)]


def test_every_option_stands_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("\n## ")[0]
    for option in FilesOptions.describe():
        assert f"`{option.name}`" in table, f"option {option.name} is not in the README"
