"""The converter: which columns it takes, and that whole Arrow batches give the JSON that single rows give."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import Column, Schema, SchemaError, WriteContext, WriterInitContext
from asyncsink_http import HttpSink
from asyncsink_http.entry import HttpConverter, KeyedEntry
from asyncsink_http.json_text import encode_row
from asyncsink_http.options import Body

CONTEXT = WriterInitContext(query_id="query", batch_id=4, writer_id=2)


def converter(schema: Schema | None = None, body: Body = "json-array") -> HttpConverter:
    made = HttpSink(url="http://localhost", body=body).converter(schema)
    made.open(CONTEXT)
    return made


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def entries(made: HttpConverter, batch: pa.RecordBatch, sequence: int = 0) -> list[Any]:
    block = made.apply_batch(batch, WriteContext(sequence=sequence))
    return [block[index] for index in range(len(block))]


MOMENT = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
LOCAL = datetime(2020, 1, 2, 3, 4, 5)
COLUMNS = {
    "string": pa.array(["a", None, 'q"\\\n\x01é', ""]),
    "large": pa.array(["a", None, "\t", "b"], pa.large_string()),
    "coded": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "bigint": pa.array([1, None, -3, 2**62]),
    "byte": pa.array([1, None, -3, 0], pa.int8()),
    "boolean": pa.array([True, None, False, True]),
    "double": pa.array([1.0, None, float("nan"), 1e300]),
    "float": pa.array([0.5, float("inf"), None, -0.0], pa.float32()),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("-0.01"), Decimal("0.00")], pa.decimal128(10, 2)),
    "timestamp": pa.array([MOMENT, None, MOMENT.replace(microsecond=7), MOMENT], pa.timestamp("us", "Europe/Berlin")),
    "ntz": pa.array([LOCAL, None, LOCAL.replace(microsecond=120000), datetime(1, 1, 1)], pa.timestamp("us")),
    "date": pa.array([date(2020, 1, 2), None, date(1, 1, 1), date(9999, 12, 31)]),
    "time": pa.array([time(1, 2, 3), None, time(1, 2, 3, 4), time(0)], pa.time64("us")),
    "binary": pa.array([b"abc", None, b"", b"\xff"]),
    "struct": pa.array([{"x": 1, "y": None}, None, {"x": None, "y": "z"}, {"x": None, "y": None}]),
    "array": pa.array([[1, None], None, [], [3]]),
    "strings": pa.array([["a", None], None, [], ["b\n"]]),
    "pair": pa.array([[1, 2], None, [3, None], [5, 6]], pa.list_(pa.int32(), 2)),
    "map": pa.array([[("a", 1), ("b", None)], None, [("c", 0)], [("d", 3)]], pa.map_(pa.string(), pa.int32())),
    "numbered": pa.array([[(1, "x")], None, [(2, None)], [(3, "y")]], pa.map_(pa.int32(), pa.string())),
    "dated": pa.array([[(date(2020, 1, 2), 1)], None, [], []], pa.map_(pa.date32(), pa.int32())).fill_null([]),
    "deep": pa.array([[{"k": [{"z": 1}]}], [], None, [{"k": None}]]),
    "void": pa.nulls(4),
}
BATCH = pa.RecordBatch.from_pydict({name: column for name, column in COLUMNS.items() if name != "dated"})


@pytest.mark.parametrize("batch", [BATCH, BATCH.slice(1, 2), BATCH.slice(3), BATCH.slice(0, 0)])
def test_a_batch_gives_the_json_of_its_rows(batch: pa.RecordBatch) -> None:
    found = entries(converter(schema_of(string="string")), batch)
    assert found == [encode_row(row) for row in batch.to_pylist()]
    assert all(b"\n" not in line for line in found)
    for line in found:
        json.loads(line)


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_a_column_alone_gives_the_json_of_its_rows(name: str) -> None:
    batch = pa.RecordBatch.from_pydict({name: COLUMNS[name]})
    found = [json.loads(line) for line in entries(converter(schema_of(id="int")), batch)]
    assert len(found) == 4
    if name != "dated":
        assert found == [json.loads(encode_row(row)) for row in batch.to_pylist()]


def test_arrows_types_tell_what_python_values_cannot() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "empty": pa.array([[]], pa.map_(pa.string(), pa.int32())),
            "dated": pa.array([[(date(2020, 1, 2), 1)]], pa.map_(pa.date32(), pa.int32())),
            "tenth": pa.array([0.1], pa.float32()),
            "week": pa.array([datetime(2020, 1, 2)], pa.timestamp("s")),
        }
    )
    (line,) = entries(converter(schema_of(id="int")), batch)
    assert line == b'{"empty":{},"dated":{"2020-01-02":1},"tenth":0.1,"week":"2020-01-02T00:00:00.000"}'


def test_rows_without_any_value_are_empty_objects() -> None:
    batch = pa.RecordBatch.from_pydict({"a": pa.array([None, 1]), "b": pa.nulls(2)})
    assert entries(converter(schema_of(a="bigint", b="void")), batch) == [b"{}", b'{"a":1}']
    nothing = pa.RecordBatch.from_pydict({"b": pa.nulls(2)})
    assert entries(converter(schema_of(b="void")), nothing) == [b"{}", b"{}"]


def test_names_are_written_as_json() -> None:
    batch = pa.RecordBatch.from_pydict({'na"me é': pa.array([1])})
    assert entries(converter(schema_of(id="int")), batch) == ['{"na\\"me é":1}'.encode()]


def test_a_batch_counts_sizes_as_the_sink_does() -> None:
    sink = HttpSink(url="http://localhost")
    block = converter(schema_of(id="bigint")).apply_batch(
        pa.RecordBatch.from_pydict({"id": [1, 22, 333]}), WriteContext()
    )
    assert [block.size_in_bytes(i, i + 1) for i in range(3)] == sink.sizes([block[i] for i in range(3)])


@pytest.mark.parametrize("name", ["body", "value", "Value"])
@pytest.mark.parametrize("kind", ["string", "binary", "varchar(10)"])
def test_a_payload_column_is_sent_as_it_is(name: str, kind: str) -> None:
    values = pa.array(['{"a": 1}', "é"])
    batch = pa.RecordBatch.from_pydict({name: values.cast(pa.binary()) if kind == "binary" else values})
    made = converter(schema_of(**{name: kind}))
    assert entries(made, batch) == [b'{"a": 1}', "é".encode()]
    assert [made.apply(row, WriteContext()) for row in batch.to_pylist()] == [b'{"a": 1}', "é".encode()]


def test_a_null_payload_is_refused() -> None:
    made = converter(schema_of(body="string"))
    with pytest.raises(ValueError, match="column 'body' is null, so there is nothing to send; filter such rows out"):
        made.apply({"body": None}, WriteContext())
    with pytest.raises(ValueError, match="is null"):
        made.apply_batch(pa.RecordBatch.from_pydict({"body": ["a", None]}), WriteContext())


def test_a_line_break_in_a_payload_is_refused_in_ndjson_alone() -> None:
    with pytest.raises(ValueError, match="the payload holds a line break"):
        converter(body="ndjson").apply(b'{\n"a":1}', WriteContext())
    assert converter().apply(b'{\n"a":1}', WriteContext()) == b'{\n"a":1}'


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"value": "double"},
            "column 'value' is of type double; a column of that name is the whole payload and must be",
        ),
        ({"body": "struct<a:int>"}, "column 'body' is of type struct<a:int>; a column of that name"),
        ({"id": "int", "body": "string"}, "column 'body' is the whole payload, so 'id' would not be sent; select"),
        ({"body": "string", "value": "string"}, "column 'body' is the whole payload, so 'value' would not be sent"),
        ({"a": "interval day to second"}, "column 'a' is of type interval day to second; interval day to second has"),
        ({"a": "interval year"}, "interval year has no form in JSON: cast it to string, or drop it"),
        ({"a": "variant"}, "column 'a' is of type variant; variant has no form in JSON"),
        ({"a": "array<struct<x:int,v:variant>>"}, "variant has no form in JSON"),
        ({"a": "map<string,interval>"}, "interval has no form in JSON"),
        ({"a": "map<binary,int>"}, "the key of a map must be a string, number, boolean, date or timestamp"),
        ({"a": "array<map<struct<x:int>,int>>"}, "the key of a map must be"),
    ],
)
def test_columns_that_cannot_be_sent_are_refused_when_the_query_is_planned(
    columns: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SchemaError) as raised:
        converter(schema_of(**columns))
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    "kind",
    [
        "tinyint",
        "decimal(38,18)",
        "timestamp_ntz",
        "time(6)",
        "char(3)",
        "void",
        "map<string,array<struct<interval:int,variant:map<date,binary>>>>",
        "struct<a b:double,c:struct<d:timestamp>>",
        "map<decimal(10,2),string>",
    ],
)
def test_all_other_types_are_taken(kind: str) -> None:
    assert converter(schema_of(a=kind)).apply({"a": None}, WriteContext()) == b"{}"


def test_elements_without_schema_are_payloads_or_mappings() -> None:
    made = converter()
    assert made.apply({"value": 1, "body": "b"}, WriteContext()) == b'{"value":1,"body":"b"}'
    assert made.apply("[1]", WriteContext()) == b"[1]"
    assert made.apply(bytearray(b"[1]"), WriteContext()) == b"[1]"
    with pytest.raises(TypeError, match="an element of type int is neither a mapping"):
        made.apply(3, WriteContext())


def test_single_rows_carry_an_id_that_is_the_same_in_a_replay() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1, 2]})
    first = entries(converter(schema_of(id="bigint"), "single"), batch, sequence=10)
    again = entries(converter(schema_of(id="bigint"), "single"), batch, sequence=10)
    assert first == again == [KeyedEntry(b'{"id":1}', "query/4/2/10"), KeyedEntry(b'{"id":2}', "query/4/2/11")]
    row = converter(schema_of(id="bigint"), "single").apply({"id": 2}, WriteContext(sequence=11))
    assert row == first[1]


def test_a_converter_of_single_rows_must_be_opened() -> None:
    unopened = HttpSink(url="http://localhost", body="single").converter(None)
    with pytest.raises(RuntimeError, match="must be called before"):
        unopened.apply({"id": 1}, WriteContext())
