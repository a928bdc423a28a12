"""The topic and the partition of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_kafka.partitioning import (
    Partitioner,
    Routed,
    highest_partitions,
    make_partitioner,
    murmur2_many,
    route,
    topics_of,
)
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

KNOWN = {"a": (3, [0, 1, 2]), "b": (5, [1]), "c": (1, [0])}
Target = tuple[str, int] | None


def murmur2() -> Partitioner:
    return make_partitioner("murmur2", batch_size_in_bytes=10**6)


def targets(found: Routed) -> list[Target]:
    return [None if slot < 0 else found.targets[slot] for slot in found.slots.tolist()]


def routed(*records: KafkaRecord, default: str | None = "a") -> Routed:
    return route(Records.of(records), default, KNOWN, murmur2())


def java_partition(key: bytes, partitions: int) -> int:
    return int(murmur2_many(pa.array([key])).item() & 0x7FFFFFFF) % partitions


class Never(Partitioner):
    def partition_many(self, topic: str, records: Records, partitions: int, available: Sequence[int]) -> Any:
        raise AssertionError("the partitioner was asked")


def test_rows_of_one_topic_go_by_their_key() -> None:
    found = routed(*(KafkaRecord(key=bytes([key])) for key in range(20)))
    assert targets(found) == [("a", java_partition(bytes([key]), 3)) for key in range(20)]
    assert found.slots.dtype == np.int32


def test_each_row_goes_to_its_own_topic_by_that_ones_partitions() -> None:
    topics = ["a", "b", "c", None, "b", "a"]
    found = routed(*(KafkaRecord(topic=topic, key=bytes([row])) for row, topic in enumerate(topics)), default="b")
    named = [topic or "b" for topic in topics]
    expected = [(topic, java_partition(bytes([row]), KNOWN[topic][0])) for row, topic in enumerate(named)]
    assert targets(found) == expected
    assert found.targets == sorted({*expected})


def test_a_rows_own_partition_wins() -> None:
    found = routed(
        *(KafkaRecord(key=b"k", partition=each) for each in (2, None, 0)), KafkaRecord(topic="b", partition=4)
    )
    assert targets(found) == [("a", 2), ("a", java_partition(b"k", 3)), ("a", 0), ("b", 4)]


def test_the_partitioner_is_not_asked_where_every_row_has_its_own() -> None:
    records = Records.of([KafkaRecord(partition=1), KafkaRecord(partition=0, topic="b")])
    assert targets(route(records, "a", KNOWN, Never())) == [("a", 1), ("b", 0)]


def test_a_partition_that_the_topic_does_not_have_is_refused() -> None:
    found = routed(KafkaRecord(partition=3), KafkaRecord(partition=2), KafkaRecord(partition=-1))
    assert targets(found) == [None, ("a", 2), None]
    assert [(each.index, each.code) for each in found.refused] == [
        (0, "UNKNOWN_TOPIC_OR_PARTITION"),
        (2, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert "partition 3 of topic 'a' does not exist: it has 3, from 0 to 2" in found.refused[0].message


def test_rows_of_a_topic_that_is_not_known_are_refused_and_the_others_go() -> None:
    rows = [KafkaRecord(topic="gone", key=b"1"), KafkaRecord(key=b"1"), KafkaRecord(topic="gone", partition=0)]
    found = routed(*rows, KafkaRecord(topic="c"))
    assert targets(found) == [None, ("a", java_partition(b"1", 3)), None, ("c", 0)]
    assert [(each.index, each.code) for each in found.refused] == [
        (0, "UNKNOWN_TOPIC_OR_PARTITION"),
        (2, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert "topic 'gone' is not known to the brokers" in found.refused[0].message


def test_if_nothing_is_known_everything_is_refused() -> None:
    found = route(Records.of([KafkaRecord()] * 3), "a", {}, Never())
    assert targets(found) == [None] * 3
    assert found.targets == []
    assert [each.index for each in found.refused] == [0, 1, 2]


def test_a_row_without_topic_is_refused_where_the_sink_has_none() -> None:
    found = routed(KafkaRecord(), KafkaRecord(topic="c"), default=None)
    assert targets(found) == [None, ("c", 0)]
    assert "names no topic" in found.refused[0].message


def test_the_default_topic_and_the_same_one_by_name_are_one() -> None:
    found = routed(*(KafkaRecord(topic=topic, partition=1) for topic in ("a", None, "a", "b", None)))
    assert targets(found) == [("a", 1), ("a", 1), ("a", 1), ("b", 1), ("a", 1)]
    assert found.targets == [("a", 1), ("b", 1)]
    assert targets(routed(KafkaRecord(topic="a", partition=2), KafkaRecord(partition=2))) == [("a", 2)] * 2


def test_only_targets_that_occur_are_named() -> None:
    records = Records.of([KafkaRecord(partition=each) for each in (7_000, 3, 7_000)])
    found = route(records, "wide", {"wide": (10_000, range(10_000))}, murmur2())
    assert found.targets == [("wide", 3), ("wide", 7_000)]
    assert found.slots.tolist() == [1, 0, 1]


def test_no_rows_have_no_targets() -> None:
    for topic in (None, pa.array([], pa.string())):
        records = Records(value=pa.array([], pa.binary()), sequence=np.zeros(0, np.int64), topic=topic)
        found = route(records, "a", KNOWN, murmur2())
        assert (found.slots.tolist(), found.targets, found.refused) == ([], [], [])
        assert topics_of(records, "a") == []


@pytest.mark.parametrize("partitioner", ["murmur2", "sticky", "round-robin", "fixed"])
def test_every_partitioner_reaches_available_partitions_of_each_rows_topic(partitioner: str) -> None:
    made = make_partitioner(partitioner, batch_size_in_bytes=30)
    rows = [
        KafkaRecord(topic="abc"[row % 3], partition=2 if row % 7 == 0 and row % 3 == 0 else None) for row in range(99)
    ]
    known = {"a": (3, [2]), "b": (4, [0]), "c": (2, [])}
    found = route(Records.of(rows), None, known, made)
    assert not found.refused
    assert [each and each[0] for each in targets(found)] == [row.topic for row in rows]
    if partitioner != "fixed":
        assert {*targets(found)} == {("a", 2), ("b", 0), ("c", 0), ("c", 1)}


@given(
    st.lists(
        st.builds(
            KafkaRecord,
            topic=st.sampled_from([None, "a", "b", "c", "gone"]),
            key=st.binary(max_size=9),
            partition=st.none() | st.integers(-1, 6),
        ),
        max_size=30,
    ),
    st.sampled_from([None, "a", "gone"]),
)
def test_routing_is_what_one_row_after_the_other_gives(records: list[KafkaRecord], default: str | None) -> None:
    expected: list[Target] = []
    for record in records:
        topic = record.topic or default
        count = KNOWN[topic][0] if topic in KNOWN else 0
        partition = record.partition
        if partition is None:
            partition = java_partition(record.key or b"", count) if count else 0
        expected.append((topic, partition) if topic and 0 <= partition < count else None)
    found = routed(*records, default=default)
    assert targets(found) == expected
    assert [each.index for each in found.refused] == [row for row, each in enumerate(expected) if each is None]
    assert sorted(found.targets) == sorted({each for each in expected if each is not None})


@given(
    st.lists(
        st.builds(
            KafkaRecord, topic=st.sampled_from([None, "a", "b", "c"]), partition=st.none() | st.integers(-2, 2**31 - 1)
        ),
        max_size=20,
    ),
    st.sampled_from([None, "a", "d"]),
)
def test_the_highest_partition_of_each_topic_is_what_its_rows_name(
    records: list[KafkaRecord], default: str | None
) -> None:
    expected: dict[str, int] = {}
    for record in records:
        topic = record.topic or default
        if topic is not None and record.partition is not None and record.partition >= 0:
            expected[topic] = max(record.partition, expected.get(topic, 0))
    assert highest_partitions(Records.of(records), default) == expected


def test_without_partitions_nobody_looks_at_the_topics() -> None:
    records = Records.of([KafkaRecord(topic="a"), KafkaRecord(topic="b")])
    object.__setattr__(records, "topic", "not a column")
    assert highest_partitions(records, "a") == {}


def test_the_topics_of_a_run_are_named_once() -> None:
    records = Records.of([KafkaRecord(topic=topic) for topic in ("b", None, "a", "b", None)])
    assert topics_of(records, "a") == ["b", "a"]
    assert topics_of(records, "z") == ["b", "z", "a"]
    assert topics_of(records, None) == ["b", "a"]
    assert topics_of(Records.of([KafkaRecord()]), "z") == ["z"]
    assert topics_of(Records.of([KafkaRecord()]), None) == []
