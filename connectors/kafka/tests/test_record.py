from __future__ import annotations

import pickle
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_kafka.record import KafkaRecord, KafkaRecordSerializer

SERIALIZER = KafkaRecordSerializer()
HEADERS = st.lists(st.tuples(st.none() | st.text(), st.none() | st.binary())).map(tuple)


@given(
    st.builds(
        KafkaRecord,
        value=st.none() | st.binary(),
        key=st.none() | st.binary(),
        topic=st.none() | st.text(),
        headers=HEADERS,
        partition=st.none() | st.integers(),
        timestamp=st.none() | st.integers(),
    )
)
def test_a_record_comes_back_as_it_was(record: KafkaRecord) -> None:
    assert SERIALIZER.deserialize(1, SERIALIZER.serialize(record)) == record


def test_null_and_empty_are_told_apart() -> None:
    records = [KafkaRecord(value=b""), KafkaRecord(), KafkaRecord(headers=(("a", b""),)), KafkaRecord(topic="")]
    records += [KafkaRecord(headers=(header,)) for header in (("a", None), (None, b""), ("", None), (None, None))]
    assert [SERIALIZER.deserialize(1, SERIALIZER.serialize(each)) for each in records] == records


def test_a_text_that_is_no_unicode_is_kept() -> None:
    record = KafkaRecord(topic="a\udc80", headers=(("\ud800", b"x"),))
    assert SERIALIZER.deserialize(1, SERIALIZER.serialize(record)) == record


def test_the_bytes_of_version_1_do_not_change() -> None:
    record = KafkaRecord(value=b"v", topic="té", headers=(("h", None),), partition=7, timestamp=-1)
    expected = "0000000176ffffffff0000000374c3a9000000010700000001ff0000000168ffffffff"
    assert SERIALIZER.serialize(record).hex() == expected


RECORD = SERIALIZER.serialize(KafkaRecord(value=b"value", key=b"key", headers=(("a", b"b"),), partition=3))


WITHOUT_HEADERS = len(SERIALIZER.serialize(KafkaRecord(value=b"value", key=b"key", partition=3)))


# Cut off right behind the fields that every record has, it is another record.
@pytest.mark.parametrize("length", [length for length in range(len(RECORD)) if length != WITHOUT_HEADERS])
def test_bytes_that_are_cut_off_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match="of a Kafka record are damaged"):
        SERIALIZER.deserialize(1, RECORD[:length])


NULL = struct.pack(">i", -1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        NULL * 4,
        NULL * 6,
        struct.pack(">i", -2) * 5,
        NULL * 4 + struct.pack(">i", 2**31 - 1),
        NULL * 3 + struct.pack(">i", 0) + NULL,
        NULL * 2 + struct.pack(">i", 1) + b"\xff" + NULL * 2,
        NULL * 5 + struct.pack(">i", 1) + b"\xff" + NULL,
    ],
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="of a Kafka record are damaged"):
        SERIALIZER.deserialize(1, data)


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 2"):
        SERIALIZER.deserialize(2, RECORD)


def test_a_record_can_be_pickled_and_is_a_key() -> None:
    record = KafkaRecord(value=b"v", headers=(("a", None),))
    assert pickle.loads(pickle.dumps(record)) == record
    assert {record: 1}[KafkaRecord(value=b"v", headers=(("a", None),))] == 1
