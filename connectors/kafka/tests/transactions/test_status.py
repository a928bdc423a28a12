"""``python -m asyncsink status --connect kafka``: a killed run holds up readers, is shown, and is ended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from asyncsink.cli import run
from asyncsink.cli.machine import Machine
from asyncsink_testing.kafka import KafkaBroker

from .preparing import committed_in
from .test_run_local import BEFORE_COMMIT, VALUES, Trial

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(300)]

FOREIGN = "of another producer"


def status(trial: Trial, *arguments: str) -> str:
    options = {
        "kafka.bootstrap.servers": trial.broker.bootstrap,
        "topic": trial.topic,
        "deliveryGuarantee": "exactly-once",
    }
    given = [f"--option={key}={value}" for key, value in options.items()]
    text, code = run(["status", str(trial.state), "--connect", "kafka", *given, *arguments], Machine.here())
    assert code == 0, text
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def write_beside(trial: Trial) -> None:
    """Store a record of somebody else's in each partition, behind what the run has left."""
    producer = Producer({"bootstrap.servers": trial.broker.bootstrap})
    for partition in range(3):
        producer.produce(trial.topic, FOREIGN, partition=partition)
    assert producer.flush(20.0) == 0


@pytest.mark.parametrize(
    ("killed", "outcome", "committed"),
    [
        (re.compile("before creating slot-1"), "attempt 1 is given up", []),
        (BEFORE_COMMIT, "attempt 1 was prepared, and is committed", VALUES[:4]),
    ],
)
def test_what_a_killed_run_has_left_is_shown_and_ended_and_holds_up_nobody(
    killed: re.Pattern[str], outcome: str, committed: list[str], broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    trial = Trial(broker, topic, tmp_path / "state")
    trial.attempt(killed)
    write_beside(trial)
    assert committed_in(broker.bootstrap, topic).count(FOREIGN) < 3
    shown = status(trial)
    assert "open transactions asyncsink-" in shown
    assert ": Ongoing since 2" in shown
    assert f" UTC, for 900 s at most, in {topic}/" in shown
    ended = status(trial, "--end")
    assert f"ended {outcome}\n1 of 1 transactions that were open have ended\nopen transactions none" in ended
    assert committed_in(broker.bootstrap, topic, least=len(committed) + 3) == sorted([*committed, *[FOREIGN] * 3])
    assert trial.run().position == len(VALUES)
    assert committed_in(broker.bootstrap, topic, least=len(VALUES) + 3) == sorted([*VALUES, *[FOREIGN] * 3])
