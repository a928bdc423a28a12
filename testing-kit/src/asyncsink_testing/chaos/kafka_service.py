"""A real Kafka broker behind a process of ours: ``python -m …chaos.kafka_service FOLDER``.

Its first start makes the broker, with the topic of the run, and writes to ``FOLDER/endpoint`` where it listens. Later
ones bring it back to the same ports and data. It ends with its stdin, and the broker with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asyncsink_testing.chaos.kafka_log import PARTITIONS, TOPIC
from asyncsink_testing.kafka.cluster import KafkaBroker
from asyncsink_testing.kafka.node import BrokerNode

_JVM = ("-Xmx256m", "-Xms256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""It lives for seconds, beside Spark on the same machine."""


def serve(folder: Path) -> None:
    """Run until the harness closes its end of our stdin, be it by its own end."""
    endpoint, kept = folder / "endpoint", folder / "kafka"
    with _again(kept) if endpoint.exists() else _first(kept, endpoint):
        sys.stdin.read()


@contextmanager
def _first(kept: Path, endpoint: Path) -> Iterator[None]:
    with KafkaBroker(folder=kept, jvm_options=_JVM) as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        draft = endpoint.with_suffix(".draft")
        draft.write_text(broker.bootstrap)
        draft.replace(endpoint)
        yield


@contextmanager
def _again(kept: Path) -> Iterator[None]:
    """The same broker from the settings that its first start has written."""
    [settings] = kept.glob("*/server.properties")
    properties = dict(line.split("=", 1) for line in settings.read_text().splitlines())
    listeners = (each.split("://") for each in properties["listeners"].split(","))
    ports = {name: int(address.rpartition(":")[2]) for name, address in listeners}
    node = BrokerNode(int(properties["node.id"]), ports, properties, settings.parent, _JVM)
    node.launch()
    try:
        node.wait_until_ready()
        yield
    finally:
        node.kill()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
