"""The README's table of connectors is the one that is made; its figures are compared where the checks run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .scripts import DOCS, reference_script

README = DOCS.parent / "README.md"

MADE = reference_script("connectors")


def check(outcome: str, level: str = "required", group: str = "delivery") -> dict[str, str]:
    return {"id": "delivers-all", "outcome": outcome, "level": level, "group": group}


def report(*checks: dict[str, str], connector: str = "http") -> dict[str, Any]:
    return {"connectors": [{"connector": connector, "checks": list(checks)}]}


def figures_in_readme() -> dict[str, str]:
    cells = re.findall(r"^\| \[([\w-]+)\]\(connectors/.*\| ([^|]+) \|$", README.read_text(), re.M)
    return dict(cells)


def test_the_readme_has_the_table_that_is_made_of_its_figures() -> None:
    readme = README.read_text()
    assert readme == MADE.with_table(readme, MADE.table(figures_in_readme())), "run: tox run -e conformance"


def test_the_readme_has_every_connector_of_the_repository_and_all_of_them_pass() -> None:
    figures = figures_in_readme()
    folders = {each.parent.name for each in (DOCS.parent / "connectors").glob("*/pyproject.toml")}
    names = {each.replace("-", "_") for each in folders}
    assert names
    assert figures.keys() == names
    for name, figure in figures.items():
        passed, _, asked = figure.partition("/")
        assert int(passed) == int(asked) > 0, f"{name}: {figure}"


@pytest.mark.parametrize(
    ("checks", "figure"),
    [
        ([check("passed"), check("passed"), check("not applicable")], "2/2"),
        ([check("passed"), check("failed"), check("waived"), check("not run")], "1/4, 1 failed, 1 waived, 1 not run"),
        ([check("passed"), check("failed", level="upcoming"), check("not run", group="spark")], "1/1"),
    ],
)
def test_a_figure_hides_no_check_but_those_of_another_environment(checks: list[dict[str, str]], figure: str) -> None:
    assert MADE.figures([report(*checks)]) == {"http": figure}


def test_two_reports_of_one_connector_are_refused() -> None:
    with pytest.raises(SystemExit, match="several reports speak of connector 'http'"):
        MADE.figures([report(check("passed")), report(check("failed"))])


def test_a_connector_without_a_report_is_named() -> None:
    others = {each.name: "1/1" for each in MADE.rows() if each.name != "http"}
    with pytest.raises(SystemExit, match="no report speaks of connector 'http'"):
        MADE.table(others)


def test_checking_writes_nothing_and_fails_where_a_figure_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme, found = tmp_path / "README.md", tmp_path / "connectors.json"
    monkeypatch.setattr(MADE, "README", readme)
    readme.write_text(f"# asyncsink\n\n{MADE.BEGIN}{MADE.END}\nRead on.\n")
    connectors = [report(check("passed"), connector=each.name)["connectors"][0] for each in MADE.rows()]
    found.write_text(json.dumps({"connectors": connectors}))
    with pytest.raises(SystemExit, match="out of step"):
        MADE.main(["--check", str(found)])
    assert readme.read_text().endswith(f"\n{MADE.BEGIN}{MADE.END}\nRead on.\n")
    MADE.main([str(found)])
    assert "| `asyncsink.http` |" in readme.read_text()
    assert "| at least once | 1/1 |\n" in readme.read_text()
    assert " | 1/1 |\n\n<!--" in readme.read_text()
    MADE.main(["--check", str(found)])
