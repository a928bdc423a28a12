"""A real Kafka broker behind a process of ours: ``python -m …chaos.kafka_service FOLDER``.

Its first start makes the broker, with the topic of the run, and writes to ``FOLDER/endpoint`` where it listens. Later
ones bring it back to the same ports and data. It ends with its stdin, and the broker with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from asyncsink_testing.chaos.kafka_log import PARTITIONS, TOPIC
from asyncsink_testing.kafka.cluster import KafkaBroker
from asyncsink_testing.kafka.listeners import PLAINTEXT
from asyncsink_testing.kafka.node import BrokerNode
from asyncsink_testing.ports import HOST

_JVM = ("-Xmx256m", "-Xms256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""It lives for seconds, beside Spark on the same machine."""


def serve(folder: Path) -> None:
    """Run until the harness closes its end of our stdin, be it by its own end."""
    with running_broker(folder / "kafka") as bootstrap:
        draft = folder / "endpoint.draft"
        draft.write_text(bootstrap)
        draft.replace(folder / "endpoint")
        sys.stdin.read()


def running_broker(kept: Path) -> AbstractContextManager[str]:
    """A broker with the topic of the run, and where it listens; the same again if there has been one in this folder."""
    return _again(kept) if [*kept.glob("*/server.properties")] else _first(kept)


@contextmanager
def _first(kept: Path) -> Iterator[str]:
    with KafkaBroker(folder=kept, jvm_options=_JVM) as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        yield broker.bootstrap


@contextmanager
def _again(kept: Path) -> Iterator[str]:
    """The same broker from the settings that its first start has written."""
    [settings] = kept.glob("*/server.properties")
    properties = dict(line.split("=", 1) for line in settings.read_text().splitlines())
    listeners = (each.split("://") for each in properties["listeners"].split(","))
    ports = {name: int(address.rpartition(":")[2]) for name, address in listeners}
    node = BrokerNode(int(properties["node.id"]), ports, properties, settings.parent, _JVM)
    node.launch()
    try:
        node.wait_until_ready()
        yield f"{HOST}:{ports[PLAINTEXT]}"
    finally:
        node.kill()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
