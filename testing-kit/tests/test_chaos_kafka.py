"""Kill and replay: how the rows are read back that a sink has sent to Kafka."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from asyncsink_testing.chaos.kafka_log import PARTITIONS, TOPIC, KafkaReader
from asyncsink_testing.chaos.source import Row, row
from asyncsink_testing.kafka import MockCluster

SOON_S = 20.0

Store = Callable[[Sequence[Row | bytes]], None]


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={TOPIC: PARTITIONS}) as started:
        yield started


@pytest.fixture
def store(cluster: MockCluster) -> Store:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})

    def put(rows: Sequence[Row | bytes]) -> None:
        for each in rows:
            producer.produce(TOPIC, each if isinstance(each, bytes) else json.dumps(each), str(each))
        assert producer.flush(SOON_S) == 0

    return put


@pytest.fixture
def reader(cluster: MockCluster, tmp_path: Path) -> Iterator[KafkaReader]:
    (tmp_path / "endpoint").write_text(cluster.bootstrap)
    with closing(KafkaReader(tmp_path)) as opened:
        yield opened


def fresh(reader: KafkaReader, count: int) -> list[int]:
    """The ids of so many rows, as they come."""
    found: list[int] = []
    deadline_s = time.monotonic() + SOON_S
    while len(found) < count:
        assert time.monotonic() < deadline_s, found
        found += [each["id"] for each in reader.fresh()]
    return sorted(found)


def test_nothing_is_read_before_the_broker_has_come_to_listen(tmp_path: Path) -> None:
    with closing(KafkaReader(tmp_path)) as reader:
        assert reader.fresh() == []


def test_rows_are_read_as_they_come(reader: KafkaReader, store: Store) -> None:
    store([row(1), row(2)])
    assert fresh(reader, 2) == [1, 2]
    store([row(3)])
    assert fresh(reader, 1) == [3]


def test_in_the_end_every_row_is_read_as_often_as_it_stands_there(reader: KafkaReader, store: Store) -> None:
    assert reader.everything() == []
    store([row(1), row(2), row(2)])
    assert fresh(reader, 3) == [1, 2, 2]
    assert sorted(each["id"] for each in reader.everything()) == [1, 2, 2]
    assert row(2) in reader.everything()


def test_a_broker_that_comes_back_is_read_on(cluster: MockCluster, reader: KafkaReader, store: Store) -> None:
    store([row(1)])
    assert fresh(reader, 1) == [1]
    cluster.stop_broker(1)
    assert reader.fresh() == []
    cluster.start_broker(1)
    store([row(2)])
    assert fresh(reader, 1) == [2]


@pytest.mark.parametrize("value", [b"no JSON", b"17"])
def test_a_value_that_is_no_row_is_none_of_the_source(reader: KafkaReader, store: Store, value: bytes) -> None:
    store([value])
    assert reader.everything() == [{"id": None}]
