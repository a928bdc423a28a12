"""Real brokers, without containers: Apache Kafka in KRaft mode on this machine's Java."""

from __future__ import annotations

import base64
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from asyncsink_testing.kafka.listeners import PLAINTEXT, Sasl, Tls, listener_properties
from asyncsink_testing.kafka.node import BrokerNode
from asyncsink_testing.ports import HOST, free_ports

_CONTROLLER = "CONTROLLER"
_ANSWER_S = 30.0
_POLL_S = 0.01

QUICK_START = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Half the processor time of a start, and half the speed afterwards."""

_QUICK = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.enable": "false",
}
_ALONE = {
    # A broker that was killed is let in again when the session of its former life has ended.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}
_SEVERAL = {
    # Else brokers on a busy machine take each other for dead.
    "controller.quorum.fetch.timeout.ms": "10000",
    "controller.quorum.election.timeout.ms": "3000",
}


class KafkaCluster:
    """Brokers that run while this is entered, each one controller too, and no longer than this process.

    A listener for PLAINTEXT is always there: by it the brokers speak with each other, and tests look at what is stored.
    Starting takes three seconds for one broker, and six again after a kill, while the controller believes that it still
    lives; of three brokers the others take over nine seconds after a kill, as anywhere. The first start of all fetches
    Kafka.

    :param brokers: 1 or 3; their numbers begin with 1
    :param listeners: the others: of SSL, SASL_PLAINTEXT, SASL_SSL
    :param properties: any of the broker's, over those that make it quick
    :param jvm_options: in place of those by which it starts soon; a benchmark gives others, such as ``-Xmx1g`` alone
    :param folder: for settings and data, and kept; by default a temporary one
    :raises KafkaUnavailable: on entering: no Java, or no Maven to fetch Kafka with
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        listeners: Sequence[str] = (),
        tls: Tls | None = None,
        sasl: Sasl | None = None,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = QUICK_START,
        folder: Path | None = None,
    ) -> None:
        self._count, self._protocols = brokers, [PLAINTEXT, *(each for each in listeners if each != PLAINTEXT)]
        self._tls, self._sasl, self._given = tls, sasl, dict(properties or {})
        self._jvm_options, self._kept = list(jvm_options), folder
        self._folder = Path()
        self._admin: Any = None
        self._consumer: Any = None
        self._asking = Lock()
        self._nodes: dict[int, BrokerNode] = {}

    def __enter__(self) -> Self:
        self._folder = self._kept or Path(tempfile.mkdtemp(prefix="asyncsink-kafka-"))
        try:
            self._nodes = {node.number: node for node in self._make()}
            cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
            scram_users = self._sasl.scram_users() if self._sasl is not None else []
            with ThreadPoolExecutor() as formatting:
                done = [formatting.submit(node.format, cluster_id, scram_users) for node in self._nodes.values()]
            for each in done:
                each.result()
            for node in self._nodes.values():
                node.launch()
            for node in self._nodes.values():
                node.wait_until_ready()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    @property
    def bootstrap(self) -> str:
        """The servers of the PLAINTEXT listeners."""
        return self.bootstrap_of(PLAINTEXT)

    def bootstrap_of(self, protocol: str) -> str:
        """The servers of the listeners that speak this protocol."""
        return ",".join(f"{HOST}:{node.ports[protocol]}" for node in self._nodes.values())

    def kill(self, broker: int = 1) -> None:
        """SIGKILL to one broker."""
        self._nodes[broker].kill()

    def stop(self, broker: int = 1) -> None:
        """End one broker in order."""
        self._nodes[broker].stop()

    def start(self, broker: int = 1) -> None:
        """Start one broker again, on the same ports and data, and return when it answers."""
        self._nodes[broker].launch()
        self._nodes[broker].wait_until_ready()

    def pause(self, broker: int = 1) -> None:
        """Let one broker hang: its connections stay, and nothing answers."""
        self._nodes[broker].pause()

    def resume(self, broker: int = 1) -> None:
        """Let a broker that was paused go on."""
        self._nodes[broker].resume()

    def pid(self, broker: int = 1) -> int | None:
        """The process of one broker, while it runs."""
        return self._nodes[broker].pid

    def log(self, broker: int = 1) -> str:
        """What one broker has said, from WARN up."""
        return self._nodes[broker].log()

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic, by default with a replica on every broker, and return when all its leaders answer."""
        from confluent_kafka import Consumer
        from confluent_kafka.admin import AdminClient, NewTopic

        with self._asking:
            if self._admin is None:
                client = {"bootstrap.servers": self.bootstrap, "log_level": 0}
                self._admin, self._consumer = AdminClient(client), Consumer({**client, "group.id": "asyncsink-testing"})
        topic = NewTopic(name, partitions, replicas or self._count, config=dict(config or {}))
        self._admin.create_topics([topic])[name].result(_ANSWER_S)
        for each in range(partitions):
            self._await_leader(name, each)

    def _await_leader(self, topic: str, partition: int) -> None:
        """A leader that has only just been chosen may not know of it yet."""
        from confluent_kafka import KafkaException, TopicPartition

        deadline_s = time.monotonic() + _ANSWER_S
        while True:
            try:
                # Else the client would go by what it heard first, that there is no such topic.
                self._consumer.list_topics(topic, _ANSWER_S)
                self._consumer.get_watermark_offsets(TopicPartition(topic, partition), _ANSWER_S)
            except KafkaException:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(_POLL_S)
            else:
                return

    def _make(self) -> list[BrokerNode]:
        count, width = self._count, len(self._protocols) + 1
        free = free_ports(count * width)
        ports = [
            dict(zip([*self._protocols, _CONTROLLER], free[at * width : (at + 1) * width], strict=True))
            for at in range(count)
        ]
        voters = ",".join(f"{at + 1}@{HOST}:{each[_CONTROLLER]}" for at, each in enumerate(ports))
        return [self._node(at + 1, each, voters) for at, each in enumerate(ports)]

    def _node(self, number: int, ports: Mapping[str, int], voters: str) -> BrokerNode:
        folder = self._folder / f"broker-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        addresses = {name: f"{name}://{HOST}:{port}" for name, port in ports.items()}
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.quorum.voters": voters,
            "controller.listener.names": _CONTROLLER,
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(addresses[each] for each in self._protocols),
            "listener.security.protocol.map": ",".join(
                [f"{_CONTROLLER}:{PLAINTEXT}", *(f"{each}:{each}" for each in self._protocols)]
            ),
            "inter.broker.listener.name": PLAINTEXT,
            "log.dirs": str(folder / "data"),
            **_QUICK,
            **(_ALONE if self._count == 1 else _SEVERAL),
            **listener_properties(self._protocols, self._tls, self._sasl, folder),
            **self._given,
        }
        return BrokerNode(number, ports, properties, folder, self._jvm_options)

    def _leave(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
        self._admin = self._consumer = None
        for node in self._nodes.values():
            node.kill()
        if self._kept is None:
            shutil.rmtree(self._folder, ignore_errors=True)


class KafkaBroker(KafkaCluster):
    """A cluster of one."""

    def __init__(
        self,
        *,
        listeners: Sequence[str] = (),
        tls: Tls | None = None,
        sasl: Sasl | None = None,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = QUICK_START,
        folder: Path | None = None,
    ) -> None:
        super().__init__(
            1,
            listeners=listeners,
            tls=tls,
            sasl=sasl,
            properties=properties,
            jvm_options=jvm_options,
            folder=folder,
        )
