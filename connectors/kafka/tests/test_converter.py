"""Records of Arrow batches, and of what a program writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import Schema, SchemaError, WriteContext
from asyncsink.arrow.rows import rows_of
from asyncsink_kafka.converter import KafkaConverter
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.record import KafkaRecord, KafkaRecordSerializer
from asyncsink_kafka.records import HEADERS, Records

SECRET = "4111 1111 1111 1111"
CONTEXT = WriteContext()


def converter(**options: Any) -> KafkaConverter:
    return KafkaConverter(None, KafkaOptions(bootstrap_servers="broker", **options))


def apply(element: Any, **options: Any) -> KafkaRecord:
    return converter(**options).apply(element, CONTEXT)


def records(columns: Mapping[str, Any], first_sequence: int = 0, **options: Any) -> Records:
    return converter(**options).records(pa.RecordBatch.from_pydict(dict(columns)), first_sequence)


def listed(found: Records) -> list[KafkaRecord]:
    return [found.record(index) for index in range(len(found))]


VALUES = ["a", None, "Zürich"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()]
)
@pytest.mark.parametrize("column", ["value", "key"])
def test_value_and_key_are_bytes_whatever_form_they_come_in(kind: Any, column: str) -> None:
    values = pa.array(VALUES).cast(pa.binary()).cast(kind)
    found = records({"value": pa.nulls(3, pa.binary()), column: values})
    assert getattr(found, column).to_pylist() == [b"a", None, "Zürich".encode()]
    assert getattr(found, column).type in (pa.binary(), pa.large_binary())


def test_dictionaries_are_taken_apart() -> None:
    coded = pa.array(["a", "b", "a"]).dictionary_encode()
    found = records({"value": coded, "topic": coded})
    assert listed(found) == [KafkaRecord(value=each.encode(), topic=each) for each in ("a", "b", "a")]


def test_no_value_is_copied() -> None:
    values = pa.array(["x" * 1000] * 100)
    before = pa.total_allocated_bytes()
    found = records({"value": values, "key": values, "n": values})
    assert pa.total_allocated_bytes() - before < 20_000
    assert found.value.buffers()[2].address == values.buffers()[2].address


def test_bytes_that_are_no_utf_8_reach_kafka_as_they_are() -> None:
    values = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    assert listed(records({"value": values, "key": values})) == [KafkaRecord(value=b"\xff\xfe", key=b"\xff\xfe")]


def test_a_topic_and_a_headers_key_that_are_no_utf_8_are_mended_as_java_does() -> None:
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a\xff", None]).buffers())
    keys = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a\xff", b"k"]).buffers())
    headers = pa.ListArray.from_arrays(
        [0, 1, 2], pa.StructArray.from_arrays([keys, pa.array([b"1", b"2"])], HEADER_NAMES)
    )
    found = records({"value": VALUES[:2], "topic": broken, "headers": headers})
    assert found.topic is not None
    assert found.topic.to_pylist() == ["a\ufffd", None]
    assert [each.headers for each in listed(found)] == [(("a\ufffd", b"1"),), (("k", b"2"),)]


HEADER_NAMES = ["key", "value"]


def test_names_compare_without_case_and_other_columns_are_left_out() -> None:
    found = records({"VALUE": ["v"], "Key": ["k"], "id": [7], "value": ["second"]})
    assert listed(found) == [KafkaRecord(value=b"v", key=b"k")]


def test_columns_that_are_not_there_cost_nothing() -> None:
    found = records({"value": ["v"]})
    assert (found.key, found.headers, found.topic, found.partition, found.timestamp) == (None,) * 5


def test_rows_are_numbered_on_from_the_first() -> None:
    assert records({"value": VALUES}, 40).sequence.tolist() == [40, 41, 42]


def test_the_topic_option_wins_over_the_column() -> None:
    columns = {"value": ["v"], "topic": ["other"]}
    assert listed(records(columns, topic="t")) == [KafkaRecord(value=b"v")]
    assert listed(records(columns)) == [KafkaRecord(value=b"v", topic="other")]
    assert apply({"value": "v", "topic": "other"}, topic="t") == KafkaRecord(value=b"v")
    assert apply({"value": "v", "topic": "other"}) == KafkaRecord(value=b"v", topic="other")


@pytest.mark.parametrize(("included", "expected"), [(None, (("a", b"1"),)), (True, (("a", b"1"),)), (False, ())])
def test_headers_are_sent_unless_they_are_refused(included: bool | None, expected: Any) -> None:
    headers = pa.array([[{"key": "a", "value": b"1"}]], HEADERS)
    assert records({"value": ["v"], "headers": headers}, include_headers=included).record(0).headers == expected
    assert apply({"value": "v", "headers": {"a": "1"}}, include_headers=included).headers == expected


LISTS: list[list[tuple[str, bytes | None]] | None] = [
    [("skipped", b"0")],
    [("a", b"1"), ("a", None)],
    None,
    [],
    [("", b""), ("é", b"2"), ("b", b"3")],
]
MAPS = [each and list(dict(each).items()) for each in LISTS]


def as_structs(lists: list[Any]) -> list[Any]:
    return [None if each is None else [{"key": key, "value": value} for key, value in each] for each in lists]


def header_type(name: str, key: Any, value: Any, outer: Any = pa.list_) -> Any:
    return outer(pa.struct([(name, key), ("value", value)]))


@pytest.mark.parametrize(
    ("lists", "column"),
    [
        (LISTS, pa.array(as_structs(LISTS), HEADERS)),
        (LISTS, pa.array(as_structs(LISTS), header_type("key", pa.large_string(), pa.large_binary(), pa.large_list))),
        (LISTS, pa.array(as_structs(LISTS), header_type("key", pa.string(), pa.string()))),
        (LISTS, pa.array(as_structs(LISTS), header_type("key", pa.string_view(), pa.binary_view()))),
        (LISTS, pa.array(as_structs(LISTS), pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())])))),
        (MAPS, pa.array(MAPS, pa.map_(pa.string(), pa.binary()))),
        (MAPS, pa.array(MAPS, pa.map_(pa.string(), pa.string()))),
        (MAPS, pa.array(MAPS, pa.map_(pa.large_string(), pa.large_binary()))),
    ],
)
@pytest.mark.parametrize(("start", "count"), [(0, 5), (1, 4), (1, 2), (3, 1), (2, 0)])
def test_headers_come_as_arrays_of_structs_or_as_maps(lists: list[Any], column: Any, start: int, count: int) -> None:
    column = column.slice(start, count)
    column.validate(full=True)
    found = records({"value": ["v"] * count, "headers": column})
    assert found.headers is not None
    found.headers.validate(full=True)
    assert [each.headers for each in listed(found)] == [tuple(each or ()) for each in lists[start : start + count]]


def test_the_fields_of_headers_compare_without_case() -> None:
    column = pa.array([[{"Value": b"1", "KEY": "a"}]])
    assert records({"value": ["v"], "headers": column}).record(0).headers == (("a", b"1"),)


def test_a_null_among_the_headers_stays_one_for_the_checks_of_rows() -> None:
    column = pa.array([[{"key": "a", "value": b"1"}, None], [{"key": None, "value": b"2"}]], HEADERS)
    found = records({"value": ["v", "w"], "headers": column})
    assert found.headers is not None
    assert found.headers.to_pylist() == column.to_pylist()


MOMENT = datetime(2024, 5, 6, 7, 8, 9, 123999, tzinfo=UTC)
MS = 1_714_979_289_123


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.timestamp("us", "UTC"), MS),
        (pa.timestamp("us", "Europe/Berlin"), MS),
        (pa.timestamp("us"), MS),
        (pa.timestamp("ns"), MS),
        (pa.timestamp("ms"), MS),
        (pa.timestamp("s", "UTC"), MS - 123),
    ],
)
def test_a_timestamp_becomes_its_milliseconds_in_utc(kind: Any, expected: int) -> None:
    given = MOMENT if kind.unit in ("us", "ns") else MOMENT.replace(microsecond=123000 if kind.unit == "ms" else 0)
    moments = pa.array([None, given.replace(tzinfo=None), None], pa.timestamp(kind.unit)).cast(kind)
    found = records({"value": VALUES[:2], "timestamp": moments.slice(1)})
    assert [each.timestamp for each in listed(found)] == [expected, None]


def test_whole_numbers_are_milliseconds_already() -> None:
    found = records({"value": VALUES, "timestamp": pa.array([0, None, -5])})
    assert [each.timestamp for each in listed(found)] == [0, None, -5]


def test_just_before_1970_is_before_1970() -> None:
    column = pa.array([-1, -1000, -1001, 999], pa.timestamp("us"))
    found = records({"value": ["v"] * 4, "timestamp": column})
    assert [each.timestamp for each in listed(found)] == [-1, -1, -2, 0]
    assert apply({"value": "v", "timestamp": datetime(1969, 12, 31, 23, 59, 59, 999999)}).timestamp == -1


def test_partitions_of_other_widths_are_taken_if_they_fit() -> None:
    assert records({"value": ["v"], "partition": pa.array([3], pa.int64())}).record(0).partition == 3
    with pytest.raises(pa.ArrowInvalid, match="not in range"):
        records({"value": ["v"], "partition": pa.array([2**40])})


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("value", pa.array([1])),
        ("key", pa.array([1.5])),
        ("topic", pa.array([b"t"])),
        ("partition", pa.array([1.5])),
        ("timestamp", pa.array(["now"])),
        ("headers", pa.array(["a"])),
        ("headers", pa.array([["a"]])),
        ("headers", pa.array([[{"key": 1, "value": b"1"}]])),
        ("headers", pa.array([[{"name": "a", "value": b"1"}]])),
        ("headers", pa.array([[{"key": "a", "value": b"1", "other": b"2"}]])),
        ("headers", pa.array([[(1, b"1")]], pa.map_(pa.int64(), pa.binary()))),
    ],
)
def test_a_batch_with_a_column_of_another_type_is_refused(name: str, column: Any) -> None:
    with pytest.raises(SchemaError, match=f"column {name!r} is of type .*; it must be .*CAST"):
        records({"value": ["v"], name: column})


def test_a_batch_without_values_is_refused() -> None:
    with pytest.raises(SchemaError, match="no column 'value' in a batch of key, id"):
        records({"key": ["k"], "id": [1]})


TEXTS = st.text(max_size=5)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "value": st.none() | st.binary(max_size=5),
            "key": st.none() | st.binary(max_size=5),
            "topic": st.none() | TEXTS,
            "headers": st.none()
            | st.lists(st.fixed_dictionaries({"key": TEXTS, "value": st.none() | st.binary(max_size=5)}), max_size=3),
            "partition": st.none() | st.integers(-(2**31), 2**31 - 1),
            "timestamp": st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
        }
    ),
    max_size=10,
)
SCHEMA = pa.schema(
    [
        ("value", pa.binary()),
        ("key", pa.binary()),
        ("topic", pa.string()),
        ("headers", HEADERS),
        ("partition", pa.int32()),
        ("timestamp", pa.timestamp("us")),
    ]
)


@given(ROWS, st.integers(0, 5))
def test_a_batch_gives_the_records_that_its_rows_give(rows: list[dict[str, Any]], skip: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA).slice(skip)
    made = converter()
    assert listed(made.records(batch, 0)) == [made.apply(row, CONTEXT) for row in rows_of(batch)]


def test_a_record_is_taken_as_it_is() -> None:
    record = KafkaRecord(value=b"v", key=b"k", topic="other", headers=(("a", None),), partition=1, timestamp=2)
    assert apply(record, topic="t") == record
    plain = KafkaRecord(value=b"v", topic="other")
    assert apply(plain, topic="t") is plain


@pytest.mark.parametrize("element", [b"v", bytearray(b"v"), memoryview(b"v"), "v"])
def test_bytes_and_strings_are_values(element: Any) -> None:
    assert apply(element) == KafkaRecord(value=b"v")
    assert type(apply(element).value) is bytes


def test_a_mapping_has_the_names_of_the_columns() -> None:
    element = {
        "Value": "Zürich",
        "KEY": bytearray(b"k"),
        "topic": "t",
        "headers": {"a": "1", "b": None},
        "partition": 3,
        "timestamp": 7,
        "id": object(),
        5: "no name",
    }
    headers = (("a", b"1"), ("b", None))
    expected = KafkaRecord(value="Zürich".encode(), key=b"k", topic="t", headers=headers, partition=3, timestamp=7)
    assert apply(element) == expected


def test_a_mapping_may_hold_none_everywhere() -> None:
    names = ("value", "key", "topic", "headers", "partition", "timestamp")
    assert apply(dict.fromkeys(names)) == KafkaRecord()


@pytest.mark.parametrize(
    "headers",
    [[("a", b"1"), ("a", "2")], [["a", "1"], ("a", b"2")], [{"key": "a", "value": b"1"}, {"key": "a", "value": "2"}]],
)
def test_headers_are_pairs_in_several_forms(headers: Any) -> None:
    expected = KafkaRecord(value=b"v", headers=(("a", b"1"), ("a", b"2")))
    assert apply({"value": "v", "headers": headers}) == expected
    assert apply(KafkaRecord(value=b"v", headers=headers)) == expected


def test_a_datetime_is_an_instant_and_without_a_zone_in_utc() -> None:
    there = MOMENT.astimezone(timezone(timedelta(hours=5)))
    for moment in (MOMENT, there, MOMENT.replace(tzinfo=None)):
        assert apply({"value": "v", "timestamp": moment}).timestamp == MS


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (
            {"value": 1},
            TypeError,
            "field 'value' is of type int; it must be bytes or str: convert it, for example by json",
        ),
        ({"key": ["k"]}, TypeError, "field 'key' is of type list; it must be bytes or str"),
        ({"topic": b"t"}, TypeError, "field 'topic' is of type bytes; it must be str: decode bytes"),
        ({"topic": "\udc80"}, UnicodeEncodeError, "surrogates not allowed"),
        ({"partition": "1"}, TypeError, "field 'partition' is of type str; it must be int"),
        ({"partition": True}, TypeError, "field 'partition' is of type bool"),
        ({"partition": 2**31}, ValueError, "field 'partition' = 2147483648 needs more than the 32 bits"),
        (
            {"timestamp": 1.5},
            TypeError,
            "field 'timestamp' is of type float; it must be int, in ms since 1970, or datetime",
        ),
        ({"timestamp": -(2**63) - 1}, ValueError, "needs more than the 64 bits"),
        ({"headers": "a=1"}, TypeError, "field 'headers' is of type str; it must be a mapping, or pairs"),
        ({"headers": 7}, TypeError, "field 'headers' is of type int; it must be a mapping, or pairs"),
        (
            {"headers": [("a",)]},
            TypeError,
            "field 'headers' holds one of type tuple; it must be pairs of name and value",
        ),
        ({"headers": ["ab"]}, TypeError, "field 'headers' holds one of type str; it must be pairs"),
        ({"headers": [(None, b"1")]}, ValueError, "field 'headers' has a header without a key"),
        ({"headers": {1: b"1"}}, TypeError, "field 'headers' has a key of type int; it must be str"),
        ({"headers": {"\udc80": b"1"}}, UnicodeEncodeError, "surrogates not allowed"),
        ({"headers": {"a": 1}}, TypeError, "field 'headers.a' is of type int; it must be bytes or str"),
    ],
)
def test_a_field_of_another_type_is_named_with_the_remedy(fields: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("[", r"\[")) as caught:
        apply({"value": SECRET, **fields})
    assert SECRET not in str(caught.value)
    with pytest.raises(error, match=message.replace("[", r"\[")):
        apply(KafkaRecord(**fields))


def test_a_dead_letter_whose_header_has_no_key_is_refused_until_it_is_mended() -> None:
    record = KafkaRecord(value=b"v", headers=(("a", b"1"), (None, SECRET.encode())))
    read = KafkaRecordSerializer().deserialize(1, KafkaRecordSerializer().serialize(record))
    with pytest.raises(ValueError, match="'headers' has a header without a key, which Kafka does not take; leave it"):
        apply(read)
    assert apply(replace(read, headers=read.headers[:1])).headers == (("a", b"1"),)


def test_a_record_of_other_types_gets_those_of_a_record() -> None:
    loose: Any = {"value": "v", "key": bytearray(b"k"), "headers": [], "timestamp": MOMENT}
    assert apply(KafkaRecord(**loose)) == KafkaRecord(value=b"v", key=b"k", timestamp=MS)


def test_a_mapping_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no field 'value', only 'id', 'name'; add it, None for a tombstone"):
        apply({"id": 1, "name": SECRET})


@pytest.mark.parametrize("element", [1, None, [b"v"], ("a", "b")])
def test_another_element_is_refused(element: Any) -> None:
    with pytest.raises(TypeError, match=f"element of type {type(element).__name__} is no KafkaRecord, no mapping"):
        apply(element)


def test_what_apply_makes_can_become_columns() -> None:
    elements: list[Any] = ["v", {"value": None, "headers": {"é": "1"}, "timestamp": -(2**63), "partition": -(2**31)}]
    made = [apply(each) for each in elements]
    assert listed(Records.of(made)) == made


def test_the_schema_is_checked_when_there_is_one() -> None:
    with pytest.raises(SchemaError, match="no column 'value'"):
        KafkaConverter(Schema(()), KafkaOptions(bootstrap_servers="broker", topic="t"))
