"""Jars that Maven fetches, once for each user."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from asyncsink_testing.cache import kept
from asyncsink_testing.kafka.unavailable import KafkaUnavailable

Artifact = tuple[str, str, str]
"""Its group, its name and its version."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_DOWNLOAD_S = 600.0
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def fetched(name: str, artifacts: Sequence[Artifact], *, alone: bool = False, cache: Path | None = None) -> Path:
    """A folder with the jars of these artifacts; fetched once, however many ask at once.

    :param name: of the folder, with the version of what is in it
    :param alone: whether what they depend on is left out
    :param cache: the folder to keep it below; by default ``asyncsink-testing`` in the user's cache
    :raises KafkaUnavailable: they are not there and Maven is missing, or does not fetch them
    """
    return kept(name, lambda folder: _fetch(folder, artifacts, alone), cache)


def _fetch(folder: Path, artifacts: Sequence[Artifact], alone: bool) -> Path:
    wanted = ", ".join(map(":".join, artifacts))
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailable(f"no mvn in PATH to fetch {wanted} with: install Maven 3")
    (folder / "pom.xml").write_text(_pom(artifacts, alone))
    jars = folder / "jars"
    command = [maven, "-q", "-B", _COPY, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_S, env=_maven_env()
        )
    except subprocess.TimeoutExpired:
        raise KafkaUnavailable(f"Maven did not fetch {wanted} within {_DOWNLOAD_S:g} s") from None
    # Without what they depend on there is a jar for each; else there are more.
    if done.returncode or not jars.is_dir() or (alone and len(list(jars.glob("*.jar"))) != len(artifacts)):
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise KafkaUnavailable(f"Maven did not fetch {wanted}: {said or done.returncode}")
    return jars


def _maven_env() -> dict[str, str]:
    return {**os.environ, "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} -Xmx256m".strip()}


def _pom(artifacts: Sequence[Artifact], alone: bool) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{_ALONE if alone else ''}</dependency>"
        for group, name, version in artifacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>asyncsink</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
