"""What is wrong with a row by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from asyncsink_kafka.record import KafkaRecord, KafkaRecordSerializer
from asyncsink_kafka.records import HEADERS, Records
from asyncsink_kafka.row_checks import RefusedRow, check_rows

SECRET = b"4111 1111 1111 1111"


def checked(
    *records: KafkaRecord,
    default: str | None = "t",
    allowed: Callable[[str], bool] | None = None,
    sizes: list[int] | None = None,
) -> list[RefusedRow]:
    return check_rows(
        Records.of(records),
        np.array(sizes or [100] * len(records), np.int64),
        default_topic=default,
        allowed=allowed,
        max_record_bytes=1000,
    )


def test_good_rows_are_left_alone() -> None:
    good = [
        KafkaRecord(),
        KafkaRecord(topic="a.b_c-D9", partition=0, timestamp=0, headers=(("", None), ("a", b""))),
        KafkaRecord(topic="x" * 249, partition=2**31 - 1, timestamp=2**63 - 1),
        KafkaRecord(topic="..."),
    ]
    assert checked(*good, sizes=[1000] * 4, allowed=lambda topic: True) == []


def test_no_rows_have_no_faults() -> None:
    records = Records(value=pa.array([], pa.binary()), sequence=np.zeros(0, np.int64))
    sizes = np.zeros(0, np.int64)
    assert check_rows(records, sizes, default_topic=None, allowed=None, max_record_bytes=1) == []


def test_a_null_topic_needs_the_sinks_own() -> None:
    rows = [KafkaRecord(topic="a"), KafkaRecord()]
    assert checked(*rows) == []
    (refused,) = checked(*rows, default=None)
    assert refused[:2] == (1, "INVALID_TOPIC_EXCEPTION")
    assert "set the option 'topic'" in refused.message
    assert [each.index for each in checked(KafkaRecord(), KafkaRecord(), default=None)] == [0, 1]


@pytest.mark.parametrize("topic", ["", ".", "..", "a b", "a/b", "é", "x" * 250, "a\n", "a:b"])
def test_a_name_that_no_topic_has_is_refused(topic: str) -> None:
    (refused,) = checked(KafkaRecord(topic="t"), KafkaRecord(topic=topic))
    assert refused[:2] == (1, "INVALID_TOPIC_EXCEPTION")
    assert repr(topic)[:50] in refused.message
    assert "1 to 249 of the ASCII letters" in refused.message
    assert len(refused.message) < 350


def test_rows_may_go_to_allowed_topics_only() -> None:
    rows = [KafkaRecord(topic=topic) for topic in ("orders", "other", None, "orders", "other")]
    refused = checked(*rows, allowed={"orders", "t"}.__contains__)
    assert [each[:2] for each in refused] == [(1, "TOPIC_NOT_ALLOWED"), (4, "TOPIC_NOT_ALLOWED")]
    assert "topic 'other' is not among those that the options 'topics' and 'topicPattern' allow" in refused[0].message
    assert [each.index for each in checked(*rows, allowed={"orders", "other"}.__contains__)] == [2]


def test_each_topic_is_asked_for_once() -> None:
    asked: list[str] = []

    def allowed(topic: str) -> bool:
        asked.append(topic)
        return True

    checked(*(KafkaRecord(topic="ab"[row % 2]) for row in range(100)), allowed=allowed)
    assert sorted(asked) == ["a", "b"]


def test_a_negative_partition_is_refused() -> None:
    refused = checked(KafkaRecord(partition=None), KafkaRecord(partition=-3), KafkaRecord(partition=0))
    assert [each[:2] for each in refused] == [(1, "UNKNOWN_TOPIC_OR_PARTITION")]
    assert "partition -3 is negative" in refused[0].message


def test_a_timestamp_before_1970_is_refused() -> None:
    refused = checked(KafkaRecord(timestamp=-1), KafkaRecord(timestamp=None), KafkaRecord(timestamp=0))
    assert [each[:2] for each in refused] == [(0, "INVALID_TIMESTAMP")]
    assert "timestamp -1 ms is before 1970" in refused[0].message


@pytest.mark.parametrize("large", [False, True])
def test_a_header_without_a_key_is_refused(large: bool) -> None:
    kind = pa.large_list(HEADERS.value_type) if large else HEADERS
    good = [{"key": "a", "value": None}]
    bad = [*good, {"key": None, "value": SECRET}]
    headers = pa.array([bad, good, None, bad, [], [None], bad + bad], kind).slice(1)
    records = Records(value=pa.nulls(6, pa.binary()), sequence=np.arange(6), headers=headers)
    sizes = np.zeros(6, np.int64)
    refused = check_rows(records, sizes, default_topic="t", allowed=None, max_record_bytes=1)
    assert [each[:2] for each in refused] == [(row, "INVALID_RECORD") for row in (2, 4, 5)]
    assert "has no key" in refused[0].message


def test_headers_below_a_null_list_do_not_count() -> None:
    lists = pa.array([[], [], [{"key": None, "value": SECRET}]], HEADERS)
    # The second list is null, and so is the key of the header that it hides.
    offsets = pa.array([0, 0, 1, 2], pa.int32()).buffers()[1]
    values = pa.concat_arrays([lists.values, lists.values])
    hiding = pa.Array.from_buffers(HEADERS, 3, [pa.py_buffer(b"\x05"), offsets], 1, children=[values])
    records = Records(value=pa.nulls(3, pa.binary()), sequence=np.arange(3), headers=hiding)
    refused = check_rows(records, np.zeros(3, np.int64), default_topic="t", allowed=None, max_record_bytes=1)
    assert [each.index for each in refused] == [2]


REFUSED = [
    KafkaRecord(topic="no topic"),
    KafkaRecord(topic=""),
    KafkaRecord(partition=-(2**31)),
    KafkaRecord(timestamp=-(2**63)),
    KafkaRecord(headers=((None, b"1"), ("a", b"2"))),
    KafkaRecord(headers=((None, None),)),
    KafkaRecord(value=b"x" * 2000, key=b"", headers=(("", None),)),
]


def test_every_refused_record_comes_back_from_a_dead_letter_as_it_was() -> None:
    records = Records.of(REFUSED)
    assert [each.index for each in checked(*REFUSED, sizes=[1001] * len(REFUSED))] == [*range(len(REFUSED))]
    for row, record in enumerate(REFUSED):
        data = KafkaRecordSerializer().serialize(records.record(row))
        assert KafkaRecordSerializer().deserialize(1, data) == record


def test_a_record_larger_than_the_limit_is_refused_and_one_as_large_is_not() -> None:
    rows = [KafkaRecord(value=SECRET)] * 3
    refused = checked(*rows, sizes=[1001, 1000, 5000])
    assert [each[:2] for each in refused] == [(0, "MESSAGE_TOO_LARGE"), (2, "MESSAGE_TOO_LARGE")]
    assert "takes 5000 bytes, more than maxRecordSizeInBytes (max.request.size) = 1000" in refused[1].message


def test_a_row_is_refused_once_for_the_first_thing_that_is_wrong() -> None:
    bad = KafkaRecord(topic="a b", partition=-1, timestamp=-1, key=SECRET, value=SECRET, headers=(("h", SECRET),))
    refused = checked(KafkaRecord(partition=-1), bad, KafkaRecord(timestamp=-1), sizes=[10, 2000, 2000])
    assert [each[:2] for each in refused] == [
        (0, "UNKNOWN_TOPIC_OR_PARTITION"),
        (1, "INVALID_TOPIC_EXCEPTION"),
        (2, "INVALID_TIMESTAMP"),
    ]


def test_messages_hold_no_payload() -> None:
    bad = KafkaRecord(key=SECRET, value=SECRET, headers=(("h", SECRET),), partition=-1)
    for refused in [*checked(bad), *checked(bad, sizes=[2000]), *checked(bad, default=None)]:
        assert SECRET.decode() not in refused.message
