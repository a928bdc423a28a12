"""The tutorial for connector authors shows the files of its connector, whole and as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).resolve().parents[1] / "tutorial"
FOLDER = TUTORIAL / "cloudwatch"
PAGE = (TUTORIAL / "your-own-connector.md").read_text()
SOURCES = sorted((FOLDER / "src").rglob("*.py"))
SHOWN = [
    FOLDER / "pyproject.toml",
    *SOURCES,
    FOLDER / "tests" / "conftest.py",
    FOLDER / "tests" / "test_conformance.py",
]


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def blocks() -> list[str]:
    return re.findall(r"^```(?:python|toml)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: str(path.relative_to(FOLDER)))
def test_the_blocks_of_a_file_make_up_the_file(path: Path) -> None:
    text = path.read_text()
    shown = [line for block in blocks() if block.strip("\n") in text for line in lines_of(block)]
    assert shown == lines_of(text)


def test_every_block_but_the_last_stands_in_a_file() -> None:
    texts = [path.read_text() for path in SHOWN]
    strange = [block for block in blocks() if not any(block.strip("\n") in text for text in texts)]
    assert strange == blocks()[-1:]


def test_the_connector_has_a_hundred_lines_at_most() -> None:
    assert sum(path.read_text().count("\n") for path in SOURCES) <= 100


def test_the_connector_is_typed() -> None:
    assert (FOLDER / "src" / "asyncsink_cloudwatch" / "py.typed").read_text() == ""
