"""The README: its program runs, its table is whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink_aws import AwsKeys, AwsOptions
from asyncsink_testing import Reaction, serving

README = (Path(__file__).parent.parent / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "README.md", "exec"), names)
    return names


def test_the_program_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    names = run(next(program for program in PROGRAMS if "connect(" in program))
    with serving(lambda _: Reaction(body=b'{"FailedRecordCount":0,"Records":[]}')) as server:
        anyio.run(names["main"], server.url)
    assert [request.headers["x-amz-target"] for request in server.stored] == ["Kinesis_20131202.PutRecords"]
    assert capsys.readouterr().out == "0\n"


def test_the_source_of_credentials_is_one() -> None:
    names = run(next(program for program in PROGRAMS if "def load" in program))
    assert isinstance(names["Vault"]().load(), AwsKeys)


def test_every_option_stands_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("\n## ")[0]
    for option in AwsOptions.describe():
        assert f"`{option.name}`" in table, f"option {option.name} is not in the README"


def test_every_provider_stands_in_its_table() -> None:
    table = README.partition("## Credentials")[2].partition("\n## ")[0]
    (choices,) = [option.type for option in AwsOptions.describe() if option.name == "credentialsProvider"]
    for each in choices.split(" | "):
        assert f"| `{each}` |" in table
