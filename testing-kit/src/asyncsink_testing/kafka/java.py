"""Apache Kafka's jars and the Java to run them with."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from asyncsink_testing.kafka.unavailable import KafkaUnavailable

KAFKA_VERSION = "4.1.0"

_OLDEST_JAVA = 17
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    # Without it the broker says nothing, not even why it does not start.
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
)
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_DOWNLOAD_S = 600.0


def java() -> str:
    """The ``java`` of JAVA_HOME, or else of PATH.

    :raises KafkaUnavailable: there is none, or it is older than Kafka's brokers need
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java"))) if home else shutil.which("java")
    remedy = f"a Kafka broker needs Java {_OLDEST_JAVA} or later: install it and set JAVA_HOME or PATH"
    if found is None:
        raise KafkaUnavailable(f"no java in {home or 'PATH'}; {remedy}")
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise KafkaUnavailable(f"{found} is {said.splitlines()[0] if said else 'no Java'}; {remedy}")
    return found


def jars(cache: Path | None = None) -> Path:
    """A folder with Kafka's jars, 54 MB; fetched once for each user, however many ask at once.

    :param cache: the folder to keep them below; by default ``asyncsink-testing`` in the user's cache
    :raises KafkaUnavailable: they are not there and Maven is missing, or fetches nothing
    """
    cache = cache or _cache()
    wanted = cache / f"kafka-{KAFKA_VERSION}"
    if wanted.is_dir():
        return wanted
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"kafka-{KAFKA_VERSION}.lock"):
        if not wanted.is_dir():
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                _fetch(Path(folder)).rename(wanted)
    return wanted


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "asyncsink-testing"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The lock ends with the process that holds it, so one that is killed stops nobody."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(folder: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailable(f"no mvn in PATH to fetch Apache Kafka {KAFKA_VERSION} with: install Maven 3")
    (folder / "pom.xml").write_text(_pom(_ARTIFACTS))
    jars = folder / "jars"
    command = [maven, "-q", "-B", _COPY, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_S, env=_maven_env()
        )
    except subprocess.TimeoutExpired:
        raise KafkaUnavailable(f"Maven did not fetch Apache Kafka within {_DOWNLOAD_S:g} s") from None
    if done.returncode or not jars.is_dir():
        said = (done.stdout + done.stderr).strip()[-600:]
        raise KafkaUnavailable(f"Maven did not fetch Apache Kafka {KAFKA_VERSION}: {said or done.returncode}")
    return jars


def _maven_env() -> dict[str, str]:
    return {**os.environ, "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} -Xmx256m".strip()}


def _pom(artifacts: Sequence[tuple[str, str, str]]) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in artifacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>asyncsink</groupId><artifactId>broker</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
