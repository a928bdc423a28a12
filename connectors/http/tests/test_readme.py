from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from asyncsink import Failure, FailureKind, RequestResult
from asyncsink_http import HttpAnswer, HttpOptions, HttpSink
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


def test_the_scheme_of_ones_own_signs_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    program = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "httpx.Auth" in block)
    module = ModuleType("company_api")
    exec(compile(program, "README.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "company_api", module)
    monkeypatch.setenv("API_KEY", "s3cret")

    async def send(url: str) -> None:
        async with HttpSink(url=url, auth="company_api:ApiKey").open() as writer:
            await writer.write({"id": 1})

    with serving() as server:
        anyio.run(send, server.url)
    assert server.stored[0].headers["x-api-key"] == "s3cret"


def test_every_option_stands_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("\n## ")[0]
    for option in HttpOptions.describe():
        assert f"`{option.name}" in table, f"option {option.name} is not in the README"


def test_the_function_that_reads_answers_reads_them() -> None:
    function = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "def read(" in block)
    names: dict[str, Any] = {}
    exec(compile(function, "README.md", "exec"), names)
    body = b'{"errors": [{"row": 1, "code": "E1", "text": "no such customer"}]}'
    result: RequestResult = names["read"](HttpAnswer(200, "OK", {}, body), 3)
    assert result.failed == {1: Failure("E1", "no such customer", FailureKind.REJECTED)}


def test_the_options_for_elasticsearch_are_read() -> None:
    lines = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "elasticsearch" in block)
    options = HttpOptions.from_options(dict(re.findall(r'^\.option\("(.+?)", "(.+?)"\)$', lines, re.MULTILINE)))
    assert (options.preset, options.preset_values) == ("elasticsearch", {"id": "{id}"})
