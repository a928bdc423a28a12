"""Apache Kafka's jars and the Java to run them with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from asyncsink_testing.kafka.maven import fetched
from asyncsink_testing.kafka.unavailable import KafkaUnavailable

KAFKA_VERSION = "4.1.0"

_OLDEST_JAVA = 17
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    # Without it the broker says nothing, not even why it does not start.
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
)


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
    return fetched(f"kafka-{KAFKA_VERSION}", _ARTIFACTS, cache=cache)
