"""What the documents point to is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IGNORED = {".tox", ".venv", "node_modules"}
DOCUMENTS = [
    path.relative_to(ROOT)
    for path in sorted(ROOT.rglob("*.md"))
    if not any(part in IGNORED or part.startswith(".venv") for part in path.relative_to(ROOT).parts)
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", (ROOT / document).read_text())
    dead = [
        target
        for target in targets
        if not target.startswith(("https://", "http://")) and not (ROOT / document.parent / target).exists()
    ]
    assert dead == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_named_tox_environment_exists(document: Path) -> None:
    tox = (ROOT / "tox.ini").read_text()
    named = set(re.findall(r"tox run -e ([a-z0-9-]+)", (ROOT / document).read_text()))
    assert {name for name in named if not re.search(rf"\b{name}\b", tox)} == set()


def paths_in_the_tree() -> list[Path]:
    """What the page for contributors has a line for."""
    tree = (ROOT / "docs" / "contributing" / "index.md").read_text().split("```")[1]
    trail: list[str] = []
    paths = []
    for line in tree.strip().splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        trail[depth:] = [line.split()[0]]
        paths.append(Path(*trail))
    return paths


def test_the_tree_for_contributors_names_what_exists() -> None:
    assert [path for path in paths_in_the_tree() if not (ROOT / path).exists()] == []


def test_the_tree_for_contributors_has_a_line_for_each_folder() -> None:
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    folders = {Path(name).parent for name in files if Path(name).parent.name not in ("", "changes", "src")}
    assert folders - set(paths_in_the_tree()) == set()
