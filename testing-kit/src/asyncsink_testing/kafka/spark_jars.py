"""Spark's own Kafka sink, to run beside ours: the jars that PySpark does not bring, fetched once by Maven."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from asyncsink_testing.kafka.unavailable import KafkaUnavailable

ARTIFACTS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""Those that run with PySpark 4.3. None of what they depend on in turn is taken: the rest is in PySpark itself."""

_FETCH_S = 600.0

_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>asyncsink</groupId><artifactId>spark-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>"""


def spark_kafka_jars() -> list[Path]:
    """The jars for ``spark.jars``; from the user's cache, or fetched into it.

    It may be called by several processes at once: the folder appears as a whole.

    :raises KafkaUnavailable: there is no Maven, or it could not fetch them
    """
    folder = _cache() / f"spark-kafka-{ARTIFACTS[0].rpartition(':')[2]}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as draft:
            _fetch(Path(draft))
            _publish(Path(draft) / "jars", folder)
    return sorted(folder.glob("*.jar"))


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "asyncsink-testing"


def _publish(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        # Another process was quicker: its jars are the same.
        if not folder.exists():
            raise


def _fetch(draft: Path) -> None:
    """Copy the jars into ``draft/jars``."""
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailable(
            f"Spark's Kafka sink needs {', '.join(ARTIFACTS)}; put Maven (mvn) on PATH to fetch them"
        )
    (draft / "pom.xml").write_text(_project(), encoding="utf-8")
    command = [maven, "-B", "-q", "-f", str(draft / "pom.xml"), "dependency:copy-dependencies"]
    answer = subprocess.run(
        [*command, f"-DoutputDirectory={draft / 'jars'}"], capture_output=True, text=True, timeout=_FETCH_S, check=False
    )
    found = sorted(each.name for each in (draft / "jars").glob("*.jar"))
    if answer.returncode or len(found) != len(ARTIFACTS):
        told = (answer.stdout + answer.stderr).strip()[-2000:]
        raise KafkaUnavailable(f"Maven has fetched {found} of {', '.join(ARTIFACTS)}; it ended with:\n{told}")


def _project() -> str:
    parts = (each.split(":") for each in ARTIFACTS)
    dependencies = (_DEPENDENCY.format(group=group, name=name, version=version) for group, name, version in parts)
    return _PROJECT.format(dependencies="".join(dependencies))
