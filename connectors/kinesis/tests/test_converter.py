"""The converter: which columns it takes, and that whole Arrow batches give the records that single rows give."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import Column, Schema, SchemaError, WriteContext, WriterInitContext
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_kinesis.converter import KinesisConverter

CONTEXT = WriterInitContext(query_id="query", batch_id=4, writer_id=2)


def converter(schema: Schema | None = None, context: WriterInitContext = CONTEXT, **options: Any) -> KinesisConverter:
    made = KinesisSink(stream_name="clicks", **options).converter(schema)
    made.open(context)
    return made


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def entries(made: KinesisConverter, batch: pa.RecordBatch, sequence: int = 0) -> list[KinesisEntry]:
    return list(made.apply_batch(batch, WriteContext(sequence=sequence)))


def batch_of(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


KEYED = schema_of(data="binary", partitionKey="string", explicitHashKey="string")


def test_columns_of_their_names_are_what_they_say() -> None:
    batch = batch_of(data=[b"a", b"\xff"], partitionKey=["k1", "k2"], explicitHashKey=["0", None])
    assert entries(converter(KEYED), batch) == [KinesisEntry(b"a", "k1", "0"), KinesisEntry(b"\xff", "k2", None)]


def test_names_compare_without_case_and_value_is_an_alias_of_data() -> None:
    schema = schema_of(VALUE="string", PARTITIONKEY="string", explicithashkey="string")
    batch = batch_of(VALUE=["ä"], PARTITIONKEY=["k"], explicithashkey=["7"])
    made = converter(schema)
    assert entries(made, batch) == [KinesisEntry("ä".encode(), "k", "7")]
    assert made.apply(batch.to_pylist()[0], WriteContext()) == KinesisEntry("ä".encode(), "k", "7")


def test_a_row_without_payload_column_is_json_without_its_keys() -> None:
    schema = schema_of(id="int", partitionKey="string", explicitHashKey="string", name="string")
    batch = batch_of(id=[1, 2], partitionKey=["a", "b"], explicitHashKey=["3", None], name=["x", None])
    found = entries(converter(schema), batch)
    assert [json.loads(entry.data) for entry in found] == [{"id": 1, "name": "x"}, {"id": 2}]
    assert [entry[1:] for entry in found] == [("a", "3"), ("b", None)]


def test_columns_that_make_the_key_stay_in_the_json() -> None:
    schema = schema_of(user="string", day="date", n="bigint")
    batch = batch_of(user=["ann", "bob"], day=[date(2026, 1, 2), date(2026, 1, 3)], n=[1, 2])
    made = converter(schema, partition_key="User,day")
    found = entries(made, batch)
    assert [entry.partition_key for entry in found] == ["ann|2026-01-02", "bob|2026-01-03"]
    assert json.loads(found[0].data) == {"user": "ann", "day": "2026-01-02", "n": 1}
    assert found == [made.apply(row, WriteContext()) for row in batch.to_pylist()]


def test_columns_that_make_the_key_may_stand_beside_the_payload() -> None:
    schema = schema_of(data="string", user="string")
    made = converter(schema, partition_key="user", partition_key_delimiter="-")
    assert entries(made, batch_of(data=["x"], user=["ann"])) == [KinesisEntry(b"x", "ann")]


def test_random_keys_differ_and_a_repeated_task_repeats_them() -> None:
    schema, batch = schema_of(data="binary"), batch_of(data=[b"a"] * 3)
    keys = [entry.partition_key for entry in entries(converter(schema), batch, 5)]
    assert len(set(keys)) == 3
    assert keys == [entry.partition_key for entry in entries(converter(schema), batch, 5)]
    one_by_one = [converter(schema).apply({"data": b"a"}, WriteContext(sequence=n)).partition_key for n in (5, 6, 7)]
    assert keys == one_by_one
    # In every Python: no hash() of it is in them, which differs from one process to the next.
    assert keys[0] == "f60ebeed8f5833f1-5"


@pytest.mark.parametrize(
    "other",
    [
        WriterInitContext(query_id="query", batch_id=5, writer_id=2),
        WriterInitContext(query_id="query", batch_id=4, writer_id=3),
        WriterInitContext(query_id="other", batch_id=4, writer_id=2),
        WriterInitContext(),
    ],
)
def test_random_keys_are_others_elsewhere(other: WriterInitContext) -> None:
    schema, batch = schema_of(data="binary"), batch_of(data=[b"a"])
    assert entries(converter(schema), batch) != entries(converter(schema, other), batch)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({}, {"PartitionKey": ["a"], "data": ["x"]}),
        ({}, {"partitionKey": ["a"], "explicitHashKey": ["7"], "id": [1]}),
        ({}, {"partitionKey": [True], "explicithashkey": ["7"]}),
        ({}, {"partitionKey": [1.5]}),
        ({}, {"partitionKey": [b"a"], "id": [1]}),
        ({}, {"partitionKey": [datetime(2026, 1, 2)]}),
        ({}, {"explicitHashKey": [5.0], "id": [1]}),
        ({"partition_key": "user"}, {"name": ["a"]}),
        ({"partition_key": "user"}, {"User": ["a"]}),
        ({"partition_key": "user"}, {"user": [1.5]}),
        ({"partition_key": "user,day"}, {"user": ["a"], "day": [date(2026, 1, 2)]}),
    ],
)
def test_without_a_schema_a_batch_gives_the_records_of_its_rows(options: Any, columns: dict[str, Any]) -> None:
    batch, made = batch_of(**columns), converter(**options)
    row = outcome(lambda: made.apply(batch.to_pylist()[0], WriteContext(sequence=4)))
    assert outcome(lambda: entries(made, batch, 4)[0]) == row


def outcome(make: Callable[[], KinesisEntry]) -> KinesisEntry | tuple[type[Exception], bool]:
    """What comes of it, or the type of what it raises and whether that names a column."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        return type(error), "column" in str(error)


def test_a_fixed_key_is_that_of_the_task() -> None:
    made = converter(schema_of(data="binary"), partition_key="fixed")
    assert entries(made, batch_of(data=[b"a", b"b"])) == [KinesisEntry(b"a", "2"), KinesisEntry(b"b", "2")]
    assert made.apply(b"a", WriteContext()) == KinesisEntry(b"a", "2")


def test_elements_without_a_schema() -> None:
    made, context = converter(), WriteContext(sequence=1)
    assert made.apply(b"bytes", context).data == b"bytes"
    assert made.apply("text", context).data == b"text"
    ready = KinesisEntry(b"x", "key", "5")
    assert made.apply(ready, context) is ready
    row = made.apply({"id": 1, "partitionKey": "k", "explicitHashKey": 7}, context)
    assert row == KinesisEntry(b'{"id":1}', "k", "7")
    assert made.apply({"id": 1}, context).partition_key == made.apply(b"x", context).partition_key
    with pytest.raises(TypeError, match="float"):
        made.apply(1.5, context)


def test_a_payload_has_no_columns_to_make_a_key_of() -> None:
    made = converter(partition_key="user")
    assert made.apply({"user": 7}, WriteContext()).partition_key == "7"
    with pytest.raises(TypeError, match="of type bytes has no columns user to make its partition key of"):
        made.apply(b"payload", WriteContext())
    with pytest.raises(ValueError, match="column 'user' is missing or null"):
        made.apply({"id": 7}, WriteContext())


KEY_COLUMNS = {
    "string": pa.array(["a", "ä", "x" * 256]),
    "large": pa.array(["a", "b", "c"], pa.large_string()),
    "coded": pa.array(["a", "b", "a"]).dictionary_encode(),
    "boolean": pa.array([True, False, True]),
    "bigint": pa.array([-1, 0, 2**62]),
    "date": pa.array([date(2020, 1, 2), date(1, 1, 1), date(9999, 12, 31)]),
    "decimal": pa.array([Decimal("1.10"), Decimal("-0.01"), Decimal("0.00")], pa.decimal128(10, 2)),
    "tiny": pa.array([Decimal("0.0000000001"), Decimal(0), Decimal(1)], pa.decimal128(20, 10)),
}
SPARK_TYPES = {"large": "string", "coded": "string", "decimal": "decimal(10,2)", "tiny": "decimal(20,10)"}


@pytest.mark.parametrize("kind", sorted(KEY_COLUMNS))
def test_a_batch_makes_the_keys_that_single_rows_make(kind: str) -> None:
    batch = pa.RecordBatch.from_pydict({"data": pa.array([b"1", b"2", b"3"]), "k": KEY_COLUMNS[kind]})
    made = converter(schema_of(data="binary", k=SPARK_TYPES.get(kind, kind)), partition_key="k")
    assert entries(made, batch) == [made.apply(row, WriteContext()) for row in batch.to_pylist()]
    assert entries(made, batch.slice(1, 1)) == entries(made, batch)[1:2]


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), min_size=1, max_size=5),
    st.lists(st.binary(max_size=20), min_size=5, max_size=5),
    st.lists(st.none() | st.integers(0, 2**128 - 1).map(str), min_size=5, max_size=5),
)
def test_whole_batches_give_what_single_rows_give(
    keys: list[str], data: list[bytes], hash_keys: list[str | None]
) -> None:
    count = len(keys)
    columns = {
        "data": pa.array(data[:count], pa.binary()),
        "partitionKey": pa.array(keys),
        "explicitHashKey": pa.array(hash_keys[:count], pa.string()),
    }
    batch, made = pa.RecordBatch.from_pydict(columns), converter(KEYED)
    block = made.apply_batch(batch, WriteContext())
    sink = KinesisSink(stream_name="clicks")
    assert list(block) == [made.apply(row, WriteContext()) for row in batch.to_pylist()]
    assert list(block.keys() or ()) == keys
    assert [block.size_in_bytes(row, row + 1) for row in range(count)] == list(sink.sizes(list(block)))


REFUSED_VALUES: dict[str, tuple[dict[str, list[Any]], str]] = {
    "null payload": ({"data": [b"a", None]}, "column 'data'.*null"),
    "null key": ({"data": [b"a", b"b"], "partitionKey": ["k", None]}, "column 'partitionKey' is null"),
    "empty key": ({"data": [b"a", b"b"], "partitionKey": ["k", ""]}, "'partitionKey' has 0 characters; .* 1 to 256"),
    "long key": ({"data": [b"a", b"b"], "partitionKey": ["k", "k" * 257]}, "'partitionKey' has 257 characters"),
    "hash key": (
        {"data": [b"a", b"b"], "explicitHashKey": ["1", str(2**128)]},
        r"'explicitHashKey' is no explicit hash key: .* from 0 to 2\^128-1",
    ),
    "hash key with a sign": ({"data": [b"a", b"b"], "explicitHashKey": ["1", "-1"]}, "is no explicit hash key"),
}


@pytest.mark.parametrize("name", sorted(REFUSED_VALUES))
def test_what_the_service_would_refuse_concerns_its_row_alone(name: str) -> None:
    columns, said = REFUSED_VALUES[name]
    arrays = {key: pa.array(values, pa.binary() if key == "data" else pa.string()) for key, values in columns.items()}
    batch = pa.RecordBatch.from_pydict(arrays)
    made = converter(schema_of(**{key: "binary" if key == "data" else "string" for key in columns}))
    assert len(entries(made, batch.slice(0, 1))) == 1
    with pytest.raises(ValueError, match=said):
        entries(made, batch)
    with pytest.raises(ValueError, match=said):
        made.apply(batch.to_pylist()[1], WriteContext())


def test_whole_numbers_are_hash_keys_and_large_ones_fit() -> None:
    numbers = pa.array([Decimal(2**126), None], pa.decimal128(38, 0))
    batch = pa.RecordBatch.from_pydict({"data": pa.array([b"a", b"b"]), "explicitHashKey": numbers})
    made = converter(schema_of(data="binary", explicitHashKey="decimal(38,0)"))
    assert [entry.explicit_hash_key for entry in entries(made, batch)] == [str(2**126), None]
    assert (
        entries(made, batch)[0].explicit_hash_key
        == made.apply({"data": b"a", "explicitHashKey": Decimal(2**126)}, WriteContext(sequence=0)).explicit_hash_key
    )


def test_strings_that_are_no_utf_8_become_some() -> None:
    broken = pa.array([b"a\xff", b"b"]).view(pa.string())
    batch = pa.RecordBatch.from_pydict({"data": broken, "partitionKey": broken})
    found = entries(converter(schema_of(data="string", partitionKey="string")), batch)
    assert found[0] == KinesisEntry("a\ufffd".encode(), "a\ufffd")


@pytest.mark.parametrize(
    ("schema", "options", "said"),
    [
        (schema_of(data="int"), {}, "column 'data' is of type int"),
        (schema_of(data="binary", other="int"), {}, "'other'"),
        (schema_of(data="binary", partitionKey="double"), {}, "'partitionKey' is of type double; a partition key is"),
        (schema_of(data="binary", partitionKey="binary"), {}, "'partitionKey' is of type binary"),
        (schema_of(data="binary", explicitHashKey="boolean"), {}, "'explicitHashKey' is of type boolean"),
        (
            schema_of(data="binary", explicitHashKey="decimal(38,2)"),
            {},
            r"'explicitHashKey' is of type decimal\(38,2\)",
        ),
        (schema_of(a="int"), {"partition_key": "b"}, "names the column 'b', and there is none; the columns are a"),
        (schema_of(a="map<int,int>"), {"partition_key": "a"}, "column 'a' is of type map<int,int>; a partition key is"),
        (
            schema_of(a="int", partitionKey="string"),
            {"partition_key": "a"},
            "column 'partitionKey' holds partition keys, and option 'partitionKey' = 'a' makes others",
        ),
        (schema_of(a="interval day to second"), {}, "column 'a' is of type interval day to second"),
    ],
)
def test_columns_that_cannot_be_sent_are_refused_at_planning(
    schema: Schema, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(SchemaError, match=said):
        KinesisSink(stream_name="clicks", **options).converter(schema)


def test_keys_need_an_open_converter() -> None:
    with pytest.raises(RuntimeError, match=r"KinesisConverter.open\(context\) must be called"):
        KinesisSink(stream_name="clicks").converter(None).apply(b"x", WriteContext())
