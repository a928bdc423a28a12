"""The converter: which columns it takes, and that whole Arrow batches give the JSON that single rows give."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from asyncsink import Column, Schema, SchemaError, WriteContext, WriterInitContext
from asyncsink.json_text import encode_row
from asyncsink_http import HttpSink
from asyncsink_http.entries.converter import HttpConverter
from asyncsink_http.entries.entry import Row

CONTEXT = WriterInitContext(query_id="query", batch_id=4, writer_id=2)


def converter(schema: Schema | None = None, body: str = "json-array") -> HttpConverter:
    made = HttpSink(url="http://localhost", body=body).converter(schema)
    made.open(CONTEXT)
    return made


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def entries(made: HttpConverter, batch: pa.RecordBatch, sequence: int = 0) -> list[Any]:
    block = made.apply_batch(batch, WriteContext(sequence=sequence))
    return [block[index] for index in range(len(block))]


def test_a_batch_gives_the_json_of_its_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1, None, 3], "note": ["a", 'q"\n', None], "at": [[1.5], [], None]})
    found = entries(converter(schema_of(id="bigint", note="string", at="array<double>")), batch)
    assert found == [encode_row(row) for row in batch.to_pylist()]
    assert found[1] == b'{"note":"q\\"\\n","at":[]}'


def test_a_value_that_is_none_of_its_type_is_refused_by_column_and_row() -> None:
    times = pa.array([0, 86_400_000_000], pa.int64()).view(pa.time64("us"))
    batch = pa.RecordBatch.from_pydict({"id": [1, 2], "at": times})
    with pytest.raises(ValueError, match="column 'at' of row 1 of 2: the value is no time of day"):
        entries(converter(schema_of(id="int", at="time(6)")), batch)


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
def test_an_empty_payload_is_refused_where_it_would_vanish_between_others(body: str, payload: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"the payload is empty, .*; filter such rows out, or set body=single"):
        converter(body=body).apply(payload, WriteContext())
    batch = pa.RecordBatch.from_pydict({"body": ["1", payload if isinstance(payload, str) else ""]})
    with pytest.raises(ValueError, match="the payload is empty"):
        converter(schema_of(body="string"), body).apply_batch(batch, WriteContext())
    (entry,) = entries(converter(schema_of(body="string"), "single"), batch.slice(1))
    assert isinstance(entry, Row)


def test_a_line_break_in_a_payload_is_refused_in_ndjson_alone() -> None:
    with pytest.raises(ValueError, match="the payload holds a line break"):
        converter(body="ndjson").apply(b'{\n"a":1}', WriteContext())
    assert converter().apply(b'{\n"a":1}', WriteContext()) == b'{\n"a":1}'


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"value": "double"},
            "column 'value' is of type double; a column of that name is the payload and must be",
        ),
        ({"body": "struct<a:int>"}, "column 'body' is of type struct<a:int>; a column of that name"),
        ({"id": "int", "body": "string"}, "column 'body' is the payload, so 'id' would not be sent; drop"),
        ({"body": "string", "value": "string"}, "column 'body' is the payload, so 'value' would not be sent"),
        ({"id": "int", "a": "interval"}, "column 'a' is of type interval; interval has no form in JSON: cast it to"),
        ({"a": "map<binary,int>"}, "the key of a map must be a string, number, boolean, date or timestamp"),
    ],
)
def test_columns_that_cannot_be_sent_are_refused_when_the_query_is_planned(
    columns: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SchemaError) as raised:
        converter(schema_of(**columns))
    assert sentence in str(raised.value)


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
    assert isinstance(first, Row)
    assert isinstance(other, Row)
    assert first.key != other.key


def test_a_converter_of_single_rows_must_be_opened() -> None:
    unopened = HttpSink(url="http://localhost", body="single").converter(None)
    with pytest.raises(RuntimeError, match="must be called before"):
        unopened.apply({"id": 1}, WriteContext())
