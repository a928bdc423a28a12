"""The specification says what the checks do, one numbered paragraph for each."""

from __future__ import annotations

import re
from inspect import getdoc

import pytest

from asyncsink_testing.conformance import Check, all_checks

from .scripts import DOCS, reference_script

PAGE = DOCS / "conformance.md"


def test_the_page_is_what_the_checks_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_script("checks").page(), "run python docs/reference/checks.py"


def test_every_check_has_one_numbered_paragraph() -> None:
    found = re.findall(r"^### (\d+\.\d+) `([a-z0-9-]+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(name for _, name in found) == sorted(each.id for each in all_checks())
    assert len({number for number, _ in found}) == len(found)


@pytest.mark.parametrize("check", all_checks(), ids=str)
def test_a_check_says_what_it_asks_and_where_to_look(check: Check) -> None:
    text = " ".join((getdoc(check.run) or "").split())
    assert check.title.endswith("."), "its first line is one sentence"
    assert len(text.split(". ")) >= 2, "one sentence says what must hold, another what breaks it and where to look"
