"""The README: its program runs as it stands, and its table has every option."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink_aws import AwsOptions
from asyncsink_kinesis import KinesisOptions
from asyncsink_testing import serving
from asyncsink_testing.aws import KinesisFake

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_program_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "c2VjcmV0")
    program = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "import anyio" in block)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "README.md", "exec"), names)
    fake = KinesisFake("flights", region="eu-west-1")
    with serving(fake.react) as server:
        anyio.run(names["main"], server.url)
    rows = [each.data for each in fake.records if each.partition_key != "LH"]
    assert sorted(json.loads(row)["id"] for row in rows) == list(range(1000))
    assert [each.data for each in fake.records if each.partition_key == "LH"] == [b"any bytes"]


def test_every_option_of_its_own_stands_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("\n## ")[0]
    shared = {option.name for option in AwsOptions.describe()}
    for option in KinesisOptions.describe():
        assert option.name in shared or f"| `{option.name}`" in table, f"option {option.name} is not in the README"
