"""The mock cluster: clients find it, it does as it is told, and it ends with its parent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Producer

from asyncsink_testing.kafka import KafkaUnavailable, MockCluster

_PRODUCE = 0
_NOT_ENOUGH_REPLICAS = 19


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(3, {"t": 2}) as cluster:
        yield cluster


def client(cluster: MockCluster, **options: Any) -> Producer:
    return Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, **options})


def leader(cluster: MockCluster, topic: str, partition: int) -> int:
    found: int = client(cluster).list_topics(topic, timeout=10).topics[topic].partitions[partition].leader
    return found


def test_has_the_brokers_and_the_topics_that_it_was_asked_for(cluster: MockCluster) -> None:
    cluster.create_topic("u", 5)
    found = client(cluster).list_topics(timeout=10)
    assert len(found.brokers) == 3
    assert {name: len(topic.partitions) for name, topic in found.topics.items()} == {"t": 2, "u": 5}


def test_threads_that_ask_at_once_get_the_answers_to_their_own_questions(cluster: MockCluster) -> None:
    def ask(number: int) -> bool:
        """Whether a topic is made; one that is there already is not."""
        try:
            cluster.create_topic(f"topic-{number}" if number % 2 else "t")
        except RuntimeError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert [*threads.map(ask, range(200))] == [bool(number % 2) for number in range(200)]


def test_stores_what_a_producer_sends(cluster: MockCluster) -> None:
    offsets = []
    producer = client(cluster, **{"enable.idempotence": True})
    for value in (b"a", b"b"):
        producer.produce("t", value, partition=1, on_delivery=lambda error, message: offsets.append(message.offset()))
    assert producer.flush(10) == 0
    assert offsets == [0, 1]


def test_answers_with_the_errors_that_were_asked_for(cluster: MockCluster) -> None:
    cluster.fail_next(_PRODUCE, [_NOT_ENOUGH_REPLICAS])
    codes = []
    producer = client(cluster, retries=0)
    for _ in range(2):
        producer.produce(
            "t", b"a", partition=0, on_delivery=lambda error, message: codes.append(error and error.code())
        )
        producer.flush(10)
    assert codes == [_NOT_ENOUGH_REPLICAS, None]


def test_moves_the_leader_of_a_partition(cluster: MockCluster) -> None:
    other = leader(cluster, "t", 0) % 3 + 1
    cluster.move_leader("t", 0, other)
    assert leader(cluster, "t", 0) == other


def test_a_command_that_librdkafka_refuses_is_an_error(cluster: MockCluster) -> None:
    with pytest.raises(RuntimeError, match="librdkafka answered"):
        cluster.create_topic("t", 2)


def test_says_what_to_install_where_the_client_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(KafkaUnavailable, match="pip install confluent-kafka"):
        MockCluster().__enter__()


def test_ends_with_a_parent_that_is_killed() -> None:
    program = (
        "import os, signal; from asyncsink_testing.kafka import MockCluster;"
        "cluster = MockCluster().__enter__(); print(cluster._process.pid, flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=30, check=False)
    assert parent.returncode == -9
    child = subprocess.run(["tail", f"--pid={parent.stdout.strip()}", "-f", "/dev/null"], timeout=10, check=False)
    assert child.returncode == 0
