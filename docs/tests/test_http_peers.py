"""The table of HTTP sinks holds what it says of ours: each yes names a test that there is, and each no a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from asyncsink.options.writer import WriterOptions
from asyncsink_http import HttpOptions

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "connectors" / "http" / "tests"
PAGE = (ROOT / "docs" / "reference" / "http-peers.md").read_text()
COLUMNS = {"Feature by feature": 10, "Beyond that": 4, "What others have and this sink has not": 3}
"""The sections with a table each, by the width of that."""
NO_OPTIONS = {"headers", "PUT"}
"""What the tables quote beside options: a column of a row, and a value."""


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


OURS = [row[:4] for section in ("Feature by feature", "Beyond that") for row in rows(section)]
ANSWERED = pytest.mark.parametrize(("feature", "answer", "how", "tests"), OURS, ids=[row[0] for row in OURS])


@cache
def names_in(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(each.name for each in nodes if isinstance(each, kinds))


@pytest.mark.parametrize(("section", "width"), COLUMNS.items())
def test_every_line_of_a_table_is_whole(section: str, width: int) -> None:
    found = rows(section)
    assert found
    assert [row[0] for row in found if len(row) != width] == []
    assert len({row[0] for row in found}) == len(found)


@ANSWERED
def test_a_yes_names_tests_that_there_are_and_a_no_its_reason(feature: str, answer: str, how: str, tests: str) -> None:
    named = re.findall(r"`([\w./-]+)::(\w+)`", tests)
    assert answer in ("yes", "partly", "no")
    assert bool(named) == (answer != "no"), feature
    assert tests == ", ".join(f"`{path}::{name}`" for path, name in named), "what is no test stands among the tests"
    for path, name in named:
        file = (ROOT if path.startswith(("core/", "testing-kit/")) else TESTS) / path
        assert name.startswith(("test_", "Test"))
        assert name in names_in(file), f"{path} has no {name}"
    if answer != "yes":
        assert how.endswith("."), "why not, in a sentence?"


@ANSWERED
def test_what_is_named_as_an_option_is_one(feature: str, answer: str, how: str, tests: str) -> None:
    known = {each.name for each in (*HttpOptions.describe(), *WriterOptions.describe())}
    options = (*HttpOptions.describe(), *WriterOptions.describe())
    known = {each.name.partition("<")[0] for each in options}
    named = set(re.findall(r"`([a-zA-Z][\w.]+)`", how))
    assert named - known - NO_OPTIONS == set()


def test_what_is_missing_has_a_reason_and_no_cell_is_empty() -> None:
    for feature, who, why in rows("What others have and this sink has not"):
        assert who, feature
        assert why.endswith("."), feature
    assert [row[0] for row in rows("Feature by feature") if not all([*row[:3], *row[4:]])] == []
