"""A connector is begun under its name alone; that what is begun passes is shown where it is installed."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
from reference import registered

from asyncsink_testing.cli import run
from asyncsink_testing.template import MAX_LENGTH, distribution


def begun(name: str, directory: Path) -> tuple[str, int]:
    return run(["new", name, "--directory", str(directory)])


@pytest.mark.parametrize(
    ("name", "package", "kind"),
    [
        ("wren", "asyncsink_wren", "Wren"),
        ("s3", "asyncsink_s3", "S3"),
        ("grey-jay", "asyncsink_grey_jay", "GreyJay"),
        ("grey_jay", "asyncsink_grey_jay", "GreyJay"),
    ],
)
def test_a_distribution_has_the_name_everywhere(tmp_path: Path, name: str, package: str, kind: str) -> None:
    text, status = begun(name, tmp_path)
    hyphened = name.replace("_", "-")
    folder = tmp_path / f"asyncsink-{hyphened}"
    assert (status, str(folder) in text) == (0, True)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == f"asyncsink-{hyphened}"
    assert project["entry-points"]["asyncsink"] == {hyphened: f"{package}._plugin"}
    assert f"class {kind}Sink(" in (folder / "src" / package / "sink.py").read_text()
    assert f'connector = "{hyphened}"' in (folder / "src" / f"pyspark_{package}.py").read_text()
    assert f'connector = "{hyphened}"' in (folder / "tests" / "test_conformance.py").read_text()


@pytest.mark.parametrize("name", ["s3", "grey-jay"])
def test_nothing_speaks_of_another_connector(name: str) -> None:
    for path, text in distribution(name).items():
        assert "parrot" not in f"{path}\n{text}".lower(), path


def test_every_module_is_python_and_short() -> None:
    modules = {path: text for path, text in distribution("parrot").items() if path.endswith(".py")}
    assert len(modules) == 8
    for path, text in modules.items():
        ast.parse(text, path)
        assert text.count("\n") <= 130, path


def test_only_one_module_imports_the_client_library_and_the_kit_is_for_tests() -> None:
    modules = {path: text for path, text in distribution("parrot").items() if path.endswith(".py")}
    assert [path for path, text in modules.items() if "import httpx" in text] == ["src/asyncsink_parrot/client.py"]
    of_the_kit = [path for path, text in modules.items() if "asyncsink_testing" in text]
    assert of_the_kit == ["tests/test_conformance.py"]


@pytest.mark.parametrize(
    "name",
    ["", "Parrot", "3d", "parrot-", "-parrot", "grey--parrot", "grey.parrot", "../parrot", "grey parrot", "perú"],
)
def test_a_name_that_nothing_can_be_called_is_refused(tmp_path: Path, name: str) -> None:
    text, status = (
        begun(name, tmp_path) if not name.startswith("-") else run(["new", "--directory", str(tmp_path), "--", name])
    )
    assert status == 1
    assert f"{name!r} cannot be the name of a connector; write small letters" in text
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    assert begun("p" * MAX_LENGTH, tmp_path)[1] == 0
    text, status = begun("p" * (MAX_LENGTH + 1), tmp_path)
    assert (status, f"at most {MAX_LENGTH}" in text) == (1, True)


@pytest.mark.parametrize("name", ["core", "testing", "http", "ht-tp", "t-e-s-t-i-n-g"])
def test_a_name_of_asyncsinks_own_is_refused(tmp_path: Path, name: str) -> None:
    text, status = begun(name, tmp_path)
    assert status == 1
    assert f"{name!r} is taken" in text
    assert not list(tmp_path.iterdir())


def test_a_name_that_another_connector_has_here_is_refused(tmp_path: Path) -> None:
    with registered("grey-jay", "reference:ReferenceSink"):
        text, status = begun("greyjay", tmp_path)
    assert status == 1
    assert "'greyjay' is taken by connector 'grey-jay' from this program" in text


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    there = tmp_path / "asyncsink-wren"
    there.mkdir()
    text, status = begun("wren", tmp_path)
    assert (status, "is there already" in text) == (1, True)
    assert not list(there.iterdir())
