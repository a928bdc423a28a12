"""Kill and replay: what stands in a real broker's transactions counts once they are committed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from asyncsink_testing.chaos import kafka_log
from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.kafka_log import PARTITIONS, TOPIC, KafkaReader
from asyncsink_testing.chaos.source import row
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with skipped_without_kafka(), KafkaBroker() as broker:
        yield broker


def test_what_was_committed_is_read_to_the_end_and_what_was_aborted_is_not(broker: KafkaBroker, tmp_path: Path) -> None:
    broker.create_topic(TOPIC, PARTITIONS)
    (tmp_path / "endpoint").write_text(broker.bootstrap)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "rows", "log_level": 0})
    producer.init_transactions(60.0)
    for number, end in ((1, producer.commit_transaction), (2, producer.abort_transaction)):
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, json.dumps(row(PARTITIONS * number + partition)), partition=partition)
        assert producer.flush(20.0) == 0
        end(20.0)
    committed = [PARTITIONS + partition for partition in range(PARTITIONS)]
    with closing(KafkaReader(tmp_path)) as reader:
        assert sorted(each["id"] for each in reader.everything()) == committed


def test_a_transaction_that_nobody_has_ended_is_an_error_also_where_nothing_is_behind_it(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_log, "_READ_S", 1.0)
    monkeypatch.setattr(kafka_log, "TOPIC", "left-open")
    broker.create_topic("left-open", PARTITIONS)
    (tmp_path / "endpoint").write_text(broker.bootstrap)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "left", "log_level": 0})
    producer.init_transactions(60.0)
    producer.begin_transaction()
    producer.produce("left-open", json.dumps(row(1)), partition=0)
    assert producer.flush(20.0) == 0
    with (
        closing(KafkaReader(tmp_path)) as reader,
        pytest.raises(ChaosError, match=r"up to \[0, 0, 0\], .* \[1, 0, 0\]"),
    ):
        reader.everything()
