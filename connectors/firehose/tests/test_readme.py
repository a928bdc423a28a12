from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from asyncsink_firehose import FirehoseOptions
from asyncsink_testing import FaultyHttpServer
from asyncsink_testing.aws import FirehoseFake

from .billing import billed_bytes
from .streams import access

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_program_runs_as_it_stands() -> None:
    program = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "import anyio" in block)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "README.md", "exec"), names)
    stream = FirehoseFake("clicks")

    async def run() -> None:
        async with FaultyHttpServer(stream.react) as server:
            await names["main"](**access(server))

    anyio.run(partial(run))
    assert sorted(json.loads(line)["id"] for record in stream.records for line in record.splitlines()) == [*range(1000)]
    assert len(stream.records) == 2


def test_every_option_stands_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("\n## ")[0]
    for option in FirehoseOptions.describe():
        assert f"`{option.name}`" in table, f"option {option.name} is not in the README"


def test_the_figures_of_the_bill_are_those_of_the_connector() -> None:
    assert 1_000_000 * billed_bytes(101) / 1e9 == 5.12
    assert round(1_000_000 / 500 * billed_bytes(500 * 101) / 1e6) == 102
