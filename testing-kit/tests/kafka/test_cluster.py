"""Real brokers: they start, come back where they were with what they held, and end with whoever started them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from asyncsink_testing.kafka import KafkaBroker, KafkaUnavailable, Sasl, Tls
from asyncsink_testing.kafka.java import jars, java
from asyncsink_testing.kafka.skipping import skipped_without_kafka

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(180)]

USER, PASSWORD = "alice", "wonderland"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import trustme  # which only the environments with brokers have

    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    (folder / "chain.pem").write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    return folder


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[KafkaBroker]:
    tls = Tls(certificate=folder / "chain.pem", private_key=folder / "key.pem", authority=folder / "authority.pem")
    sasl = Sasl(mechanisms=("PLAIN", "SCRAM-SHA-512"), users={USER: PASSWORD})
    properties = {"message.max.bytes": "3000"}
    with (
        skipped_without_kafka(),
        KafkaBroker(listeners=("SSL", "SASL_SSL"), tls=tls, sasl=sasl, properties=properties) as started,
    ):
        yield started


def send(bootstrap: str, topic: str, value: bytes, **options: Any) -> str | None:
    """Send one record, and return the name of the error."""
    told: list[str | None] = []
    given = {name.replace("_", "."): each for name, each in options.items()}
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "message.timeout.ms": 30_000, **given})
    producer.produce(topic, value, on_delivery=lambda error, message: told.append(error and error.name()))
    assert producer.flush(40) == 0
    return told[0]


def held(broker: KafkaBroker, topic: str) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    end = consumer.get_watermark_offsets(place, 30)[1]
    consumer.assign([place])
    found = [message.value() for message in consumer.consume(end, 30)]
    consumer.close()
    return found


def test_comes_back_after_a_kill_on_the_same_port_with_what_it_held(broker: KafkaBroker) -> None:
    broker.create_topic("kept")
    bootstrap = broker.bootstrap
    assert send(bootstrap, "kept", b"before") is None
    broker.kill()
    assert broker.pid() is None
    broker.start()
    assert broker.bootstrap == bootstrap
    assert send(bootstrap, "kept", b"after") is None
    assert held(broker, "kept") == [b"before", b"after"]


@pytest.mark.parametrize("mechanism", [None, "PLAIN", "SCRAM-SHA-512"])
def test_speaks_tls_and_knows_its_users(broker: KafkaBroker, folder: Path, mechanism: str | None) -> None:
    protocol = "SASL_SSL" if mechanism else "SSL"
    options = {"security_protocol": protocol, "ssl_ca_location": str(folder / "authority.pem")}
    if mechanism:
        options |= {"sasl_mechanism": mechanism, "sasl_username": USER, "sasl_password": PASSWORD}
    assert send(broker.bootstrap_of(protocol), f"by-{mechanism}", b"x", **options) is None


def test_has_the_properties_that_it_was_given(broker: KafkaBroker) -> None:
    assert send(broker.bootstrap, "large", b"x" * 5_000) == "MSG_SIZE_TOO_LARGE"


def test_says_what_to_install_where_java_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(KafkaUnavailable, match="needs Java 17 or later: install it and set JAVA_HOME"):
        java()


def test_says_what_to_install_where_maven_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KafkaUnavailable, match="no mvn in PATH"):
        jars(tmp_path / "cache")


@pytest.mark.usefixtures("broker")  # which has found out that brokers can run here
def test_ends_with_whoever_started_it(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal; from asyncsink_testing.kafka import KafkaBroker;"
        f"started = KafkaBroker(folder=pathlib.Path({str(tmp_path)!r})).__enter__(); print(started.pid(), flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90, check=False)
    assert parent.returncode == -9, parent.stderr
    child = subprocess.run(["tail", f"--pid={parent.stdout.strip()}", "-f", "/dev/null"], timeout=20, check=False)
    assert child.returncode == 0


def test_what_needs_a_kafka_that_cannot_run_here_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match="no mvn in PATH"), skipped_without_kafka():
        raise KafkaUnavailable("no mvn in PATH")
