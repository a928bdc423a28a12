"""Partitioners that users bring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncsink import ConfigurationError
from asyncsink_kafka.partitioning import Partitioner, Routed, make_partitioner, route
from asyncsink_kafka.partitioning.own import ByRecord
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

KNOWN = {"t": (4, range(4)), "long-name": (4, range(4))}


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield
    sys.modules.pop("user_partitioners", None)


def own(name: str) -> Partitioner:
    return make_partitioner(f"user_partitioners:{name}", batch_size_in_bytes=1)


def routed(name: str, *records: KafkaRecord) -> Routed:
    return route(Records.of(records), "t", KNOWN, own(name))


def partitions(found: Routed) -> list[int | None]:
    return [None if slot < 0 else found.targets[slot][1] for slot in found.slots.tolist()]


def test_a_class_with_partition_is_asked_for_each_record() -> None:
    found = routed("ByFirstByte", *(KafkaRecord(key=key) for key in (b"\1", b"\2x", None, b"\7")))
    assert partitions(found) == [1, 2, 0, 3]


def test_it_is_opened_with_the_writers_number() -> None:
    made = own("ByFirstByte")
    made.open(3, 8)
    assert isinstance(made, ByRecord)
    assert made._opened.opened == (3, 8)


def test_a_function_is_a_partitioner_too() -> None:
    assert partitions(routed("by_topic", KafkaRecord(), KafkaRecord(topic="long-name"))) == [1, 1]


def test_a_subclass_and_anything_with_partition_many_get_the_columns() -> None:
    assert partitions(routed("Last", KafkaRecord(), KafkaRecord(topic="long-name"))) == [3, 3]
    assert partitions(routed("Lengths", KafkaRecord(value=b"ab"), KafkaRecord(value=b""))) == [2, 0]


def test_what_it_does_wrong_refuses_the_record_alone() -> None:
    values = (b"1", b"raise", b"4", b"-1", b"half", b"3")
    records = [KafkaRecord(topic="long-name"), *(KafkaRecord(value=value) for value in values)]
    found = routed("Picky", *records)
    assert partitions(found) == [0, 1, None, None, None, None, 3]
    assert [(each.index, each.code) for each in found.refused] == [(row, "INVALID_PARTITION") for row in (2, 3, 4, 5)]
    messages = [each.message for each in found.refused]
    assert messages[0] == "partitioner 'user_partitioners:Picky' failed: LookupError: no rule for it"
    assert messages[1] == (
        "partitioner 'user_partitioners:Picky' chose partition 4 of topic 't', whose partitions are 0 to 3; let it "
        "return one of these"
    )
    assert "chose partition -1" in messages[2]
    assert "TypeError: 'float' object cannot be interpreted as an integer" in messages[3]


def test_a_partition_out_of_range_among_many_refuses_its_record() -> None:
    values = ("ab", "abcd", "abc")
    records = [KafkaRecord(value=each.encode(), topic=topic) for each in values for topic in ("t", "long-name")]
    found = routed("Lengths", *records)
    assert partitions(found) == [2, 2, None, None, 3, 3]
    assert [each.index for each in found.refused] == [2, 3]
    assert "'user_partitioners:Lengths' chose partition 4 of topic 'long-name'" in found.refused[1].message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("TooFew", "'user_partitioners:TooFew' returned int64 of shape .1,. for 2 records of topic 't'; return one"),
        ("Fractions", "returned float64 of shape"),
        ("Broken", "'user_partitioners:Broken' failed for topic 't': RuntimeError: the table of customers is not"),
    ],
)
def test_one_that_is_wrong_as_a_whole_is_an_error(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        routed(name, KafkaRecord(), KafkaRecord())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NeedsArguments", "cannot be made: TypeError: .*; its class must need no arguments"),
        ("Nothing", r"names no partitioner; define partition\(topic, key, value, partitions\)"),
        ("NUMBER", "names no partitioner"),
        ("Missing", "has no 'Missing'.*; install or mend it where the writers run"),
    ],
)
def test_what_is_no_partitioner_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option 'partitioner' = .*{message}"):
        own(name)
