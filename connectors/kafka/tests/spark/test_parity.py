"""Parity with Spark's own Kafka sink: of the same rows both make the same records, in the same partitions."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import DataFrame, SparkSession

from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka
from asyncsink_testing.kafka.spark_jars import spark_kafka_jars

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(300)]

ROWS = 100_000
PARTITIONS = 12
LONGEST_KEY = 10_000
READ_S = 60.0

KEY_LENGTH = f"CASE id % 10 WHEN 0 THEN id % {LONGEST_KEY + 1} WHEN 1 THEN id % 999 ELSE id % 49 END"
DIGITS = f"repeat(sha2(CAST(id AS STRING), 512), 1 + ({KEY_LENGTH}) DIV 64)"
"""At least two for each byte of the key, and other ones for each row."""
# Any bytes: those above 127 are negative numbers in Java.
KEY = f"""
CASE
    WHEN id % 17 = 0 THEN NULL
    WHEN id % 3 = 0 THEN unhex(left({DIGITS}, 2 * least({KEY_LENGTH}, 5000)))
    WHEN id % 3 = 1 THEN encode(concat('ключ ✓ ', left({DIGITS}, {KEY_LENGTH})), 'UTF-8')
    ELSE encode(left({DIGITS}, {KEY_LENGTH}), 'UTF-8')
END"""
VALUE = """
CASE
    WHEN id % 29 = 0 THEN NULL
    WHEN id % 31 = 0 THEN ''
    WHEN id % 5000 = 1 THEN repeat('long value ', 20000)
    ELSE concat('значение ', id, ' 値')
END"""
HEADERS = """
CASE id % 5
    WHEN 0 THEN NULL
    WHEN 1 THEN CAST(array() AS ARRAY<STRUCT<key: STRING, value: BINARY>>)
    WHEN 2 THEN array(named_struct('key', 'номер', 'value', encode(CAST(id AS STRING), 'UTF-8')))
    ELSE array(
        named_struct('key', 'a', 'value', X'00FF'),
        named_struct('key', '', 'value', X''),
        named_struct('key', 'a', 'value', CAST(NULL AS BINARY))
    )
END"""


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as it stands in the log."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @classmethod
    def of(cls, message: Any) -> Self:
        return cls(message.partition(), message.key(), message.value(), tuple(message.headers() or ()))


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with skipped_without_kafka(), KafkaBroker() as started:
        yield started


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A session that has Spark's own sink."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with skipped_without_kafka():
        jars = spark_kafka_jars()
    settings: dict[str, bool | float | int | str | None] = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """In one task, so that the order of the records is that of the rows."""
    return spark.range(0, ROWS, 1, 1).selectExpr(f"{KEY} AS key", f"{VALUE} AS value", f"{HEADERS} AS headers")


@pytest.fixture(scope="module")
def theirs(broker: KafkaBroker, rows: DataFrame) -> list[Stored]:
    return sent(broker, rows, "kafka")


@pytest.fixture(scope="module")
def ours(broker: KafkaBroker, rows: DataFrame) -> list[Stored]:
    return sent(broker, rows, "asyncsink.kafka")


def sent(broker: KafkaBroker, rows: DataFrame, door: str) -> list[Stored]:
    """What a sink makes of the rows; nothing differs but its name."""
    topic = f"parity-{door}"
    broker.create_topic(topic, PARTITIONS)
    writer = rows.write.format(door).mode("append").option("kafka.bootstrap.servers", broker.bootstrap)
    writer.option("topic", topic).option("includeHeaders", "true").save()
    return read(broker.bootstrap, topic)


def read(bootstrap: str, topic: str) -> list[Stored]:
    """All records of a topic, each partition's in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "parity", "log_level": 0})
    partitions = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
    try:
        count = sum(consumer.get_watermark_offsets(each, timeout=READ_S)[1] for each in partitions)
        consumer.assign(partitions)
        found: list[Stored] = []
        deadline_s = time.monotonic() + READ_S
        while len(found) < count:
            assert time.monotonic() < deadline_s, f"{len(found)} of {count} records of {topic} could be read"
            messages = consumer.consume(10_000, timeout=0.1)
            assert not any(each.error() for each in messages)
            found += map(Stored.of, messages)
    finally:
        consumer.close()
    return sorted(found, key=attrgetter("partition"))


def by_partition(records: list[Stored]) -> dict[int, list[Stored]]:
    with_key = (each for each in records if each.key is not None)
    return {partition: list(members) for partition, members in groupby(with_key, attrgetter("partition"))}


def test_the_rows_are_as_varied_as_they_should_be(theirs: list[Stored]) -> None:
    keys = [each.key for each in theirs if each.key is not None]
    assert len(theirs) == ROWS
    assert b"" in keys
    assert max(map(len, keys)) >= LONGEST_KEY
    assert set(range(256)) == {byte for key in keys[:2000] for byte in key}
    assert {len(each.headers) for each in theirs} == {0, 1, 3}
    assert {each.value for each in theirs} >= {None, b""}


def test_every_record_with_a_key_is_the_same_in_the_same_partition_and_order(
    theirs: list[Stored], ours: list[Stored]
) -> None:
    expected, found = by_partition(theirs), by_partition(ours)
    assert set(found) == set(expected) == set(range(PARTITIONS))
    # Not as a whole: what pytest would say of the difference takes minutes to make.
    for partition, records in expected.items():
        assert len(found[partition]) == len(records), partition
        differs = next((pair for pair in zip(found[partition], records, strict=True) if pair[0] != pair[1]), None)
        assert differs is None, partition


def test_the_records_without_a_key_are_the_same_in_any_partition(theirs: list[Stored], ours: list[Stored]) -> None:
    expected, found = (
        Counter((each.value, each.headers) for each in records if each.key is None) for records in (theirs, ours)
    )
    assert expected.total() > ROWS / 20
    assert not expected - found
    assert not found - expected
