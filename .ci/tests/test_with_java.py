from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import with_java


def fake_java(folder: Path, version: str) -> str:
    """An executable that says it is a Java of `version`, and otherwise prints its arguments, one a line."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit; fi\n'
        'printf "%s\\n" "$@"\n'
    )
    java.chmod(0o755)
    return str(java)


@pytest.mark.parametrize(
    ("said", "version"), [("17.0.15", 17), ("21", 21), ("1.8.0_412", 8), ("25-ea", 25)], ids=lambda value: str(value)
)
def test_the_feature_version_is_read(said: str, version: int, tmp_path: Path) -> None:
    assert with_java.java_version(fake_java(tmp_path, said)) == version


def test_a_recent_java_is_used_as_it_is(tmp_path: Path) -> None:
    environ = {"JAVA_HOME": str(Path(fake_java(tmp_path / "java", "17.0.1")).parents[1])}
    assert with_java.environment(environ, tmp_path / "made") == environ
    environ = {"PATH": str(tmp_path / "java" / "bin")}
    assert with_java.environment(environ, tmp_path / "made") == environ


@pytest.mark.parametrize("found", ["nothing", "too old", "broken"])
def test_the_wheel_serves_where_no_recent_java_is(found: str, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    if found == "too old":
        environ["JAVA_HOME"] = str(Path(fake_java(tmp_path / "old", "11.0.2")).parents[1])
    elif found == "broken":
        environ["JAVA_HOME"] = str(tmp_path / "no such folder")
    made = with_java.environment(environ, tmp_path / "made")
    assert made["JAVA_HOME"] == str(tmp_path / "made")
    assert with_java.java_version(str(tmp_path / "made" / "bin" / "java")) == 21


def test_the_launcher_drops_the_one_module_and_keeps_every_other_argument(tmp_path: Path) -> None:
    home = with_java.make_java_home(tmp_path / "a home", Path(fake_java(tmp_path / "it's a java", "21")))
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "", "x*y"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == ["-cp", "a b", "--add-modules=java.sql", "", "x*y"]
