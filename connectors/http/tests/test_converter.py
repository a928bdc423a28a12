"""The converter: which columns it takes, and that whole Arrow batches give the JSON that single rows give."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import Column, Schema, SchemaError, WriteContext, WriterInitContext
from asyncsink_http import HttpSink
from asyncsink_http.calendar_text import day_text, moment_text
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
MAPS = {"map", "numbered", "dated"}
"""Whose Python values do not tell that they are maps."""
BATCH = pa.RecordBatch.from_pydict({name: column for name, column in COLUMNS.items() if name not in MAPS})


@pytest.mark.parametrize("batch", [BATCH, BATCH.slice(1, 2), BATCH.slice(3), BATCH.slice(0, 0)])
def test_a_batch_gives_the_json_of_its_rows(batch: pa.RecordBatch) -> None:
    found = entries(converter(schema_of(string="string")), batch)
    assert found == [encode_row(row) for row in batch.to_pylist()]
    assert all(b"\n" not in line for line in found)
    for line in found:
        json.loads(line)


@pytest.mark.parametrize("name", sorted({*COLUMNS} - MAPS))
def test_a_column_alone_gives_the_json_of_its_rows(name: str) -> None:
    batch = pa.RecordBatch.from_pydict({name: COLUMNS[name]})
    found = [json.loads(line) for line in entries(converter(schema_of(id="int")), batch)]
    assert len(found) == 4
    assert found == [json.loads(encode_row(row)) for row in batch.to_pylist()]


def test_maps_are_objects_that_keep_their_nulls() -> None:
    batch = pa.RecordBatch.from_pydict({name: COLUMNS[name] for name in sorted(MAPS)})
    expected = [
        b'{"dated":{"2020-01-02":1},"map":{"a":1,"b":null},"numbered":{"1":"x"}}',
        b'{"dated":{}}',
        b'{"dated":{},"map":{"c":0},"numbered":{"2":null}}',
        b'{"dated":{},"map":{"d":3},"numbered":{"3":"y"}}',
    ]
    made = converter(schema_of(id="int"))
    assert entries(made, batch) == expected
    assert [entries(made, batch.slice(row, 1)) for row in range(4)] == [[line] for line in expected]


def test_strings_that_are_no_utf_8_are_repaired_as_spark_does() -> None:
    broken = pa.array([b"a", b"\xff", None, b'\xe2\x82z"', b"\xf0\x9f\x98\x80"])
    text = pa.Array.from_buffers(pa.string(), 5, broken.buffers())
    names = ["plain", "nested", "map"]
    nested = pa.StructArray.from_arrays([text], names=["s"])
    mapped = pa.MapArray.from_arrays(pa.array([0, 1, 2, 2, 2, 2], pa.int32()), text.take([0, 1]), pa.array([1, 2]))
    lines = entries(converter(schema_of(id="int")), pa.RecordBatch.from_arrays([text, nested, mapped], names))
    assert [json.loads(line).get("plain") for line in lines] == ["a", "\ufffd", None, '\ufffdz"', "\U0001f600"]
    assert json.loads(lines[1]) == {"plain": "\ufffd", "nested": {"s": "\ufffd"}, "map": {"\ufffd": 2}}
    valid = text.take([0, 1, 3])
    payloads = entries(converter(schema_of(body="string")), pa.RecordBatch.from_arrays([valid], ["body"]))
    assert payloads == [b"a", "\ufffd".encode(), '\ufffdz"'.encode()]
    raw = pa.RecordBatch.from_arrays([pa.array([b"\xff"])], ["body"])
    assert entries(converter(schema_of(body="binary")), raw) == [b"\xff"], "binary stays as it is"


FAR = {
    "instant": (
        pa.array([253402300800000000, -62135596800000001, 2**63 - 1, -(2**63) + 1], pa.timestamp("us", "UTC")),
        [
            "+10000-01-01T00:00:00.000Z",
            "0000-12-31T23:59:59.999999Z",
            "+294247-01-10T04:00:54.775807Z",
            "-290308-12-21T19:59:05.224193Z",
        ],
    ),
    "local": (
        pa.array([2**40, 0, -(2**40), None], pa.timestamp("s")),
        ["+36812-02-20T00:36:16.000", "1970-01-01T00:00:00.000", "-32873-11-12T23:23:44.000", None],
    ),
    "fine": (
        pa.array([1, 1000, 10**9, None], pa.timestamp("ns")),
        ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000001", "1970-01-01T00:00:01.000", None],
    ),
    "date": (
        pa.array([2932897, -719529, 2**31 - 1, 18321], pa.int32()).cast(pa.date32()),
        ["+10000-01-01", "-0001-12-31", "+5881580-07-11", "2020-02-29"],
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_dates_that_neither_arrow_nor_python_can_write_are_written(name: str) -> None:
    column, expected = FAR[name]
    lines = entries(converter(schema_of(id="int")), pa.RecordBatch.from_pydict({"a": column}))
    assert [json.loads(line).get("a") for line in lines] == expected


@given(st.datetimes())
def test_the_calendar_is_pythons_where_python_has_one(moment: datetime) -> None:
    days = (moment.date() - date(1970, 1, 1)).days
    assert day_text(days) == moment.date().isoformat()
    count = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert datetime.fromisoformat(moment_text(count, 1_000_000)) == moment


def test_a_value_that_is_none_of_its_type_is_refused_by_column_and_row() -> None:
    times = pa.array([0, 86_400_000_000], pa.int64()).view(pa.time64("us"))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), times)
    for column in (times, lists):
        batch = pa.RecordBatch.from_pydict({"id": [1, 2], "at": column})
        with pytest.raises(ValueError, match="column 'at' of row 1 of 2: the value is no time of day"):
            entries(converter(schema_of(id="int")), batch)


def test_decimals_have_all_their_digits_and_no_exponent() -> None:
    tiny = pa.array([Decimal("1E-10"), Decimal("0E-10"), None], pa.decimal128(38, 10))
    lines = entries(converter(schema_of(id="int")), pa.RecordBatch.from_pydict({"a": tiny}))
    assert lines == [b'{"a":0.0000000001}', b'{"a":0.0000000000}', b"{}"]


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


@pytest.mark.parametrize("body", ["json-array", "ndjson"])
@pytest.mark.parametrize("payload", ["", " \t", b""])
def test_an_empty_payload_is_refused_where_it_would_vanish_between_others(body: Body, payload: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"the payload is empty, .*; filter such rows out, or set body=single"):
        converter(body=body).apply(payload, WriteContext())
    batch = pa.RecordBatch.from_pydict({"body": ["1", payload if isinstance(payload, str) else ""]})
    with pytest.raises(ValueError, match="the payload is empty"):
        converter(schema_of(body="string"), body).apply_batch(batch, WriteContext())
    (entry,) = entries(converter(schema_of(body="string"), "single"), batch.slice(1))
    assert isinstance(entry, KeyedEntry)


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
        "struct<`a,b`:int,`f(x)<y>:interval`:double,`a``,b`:string>",
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
    assert first == again
    assert [entry.payload for entry in first] == [b'{"id":1}', b'{"id":2}']
    places = [entry.key.rpartition("/") for entry in first]
    assert [place for place, _, _ in places] == ["query/4/2/10", "query/4/2/11"]
    assert all(len(digest) == 16 for _, _, digest in places)
    row = converter(schema_of(id="bigint"), "single").apply({"id": 2}, WriteContext(sequence=11))
    assert row == first[1]


def test_another_row_in_the_same_place_of_a_replay_has_another_id() -> None:
    made = converter(body="single")
    first, other = (made.apply(row, WriteContext(sequence=10)) for row in ({"id": 1}, {"id": 2}))
    assert isinstance(first, KeyedEntry)
    assert isinstance(other, KeyedEntry)
    assert first.key != other.key


def test_a_converter_of_single_rows_must_be_opened() -> None:
    unopened = HttpSink(url="http://localhost", body="single").converter(None)
    with pytest.raises(RuntimeError, match="must be called before"):
        unopened.apply({"id": 1}, WriteContext())
