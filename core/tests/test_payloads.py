"""Payloads of rows and of elements: the column as it is, or the row as JSON; one by one and many at once."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from asyncsink.context import Column, Schema
from asyncsink.errors import SchemaError
from asyncsink.payloads import Payloads

NAMES = ("data", "value")


def schema(**types: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in types.items()))


def both(rows: list[dict[str, Any]], of: Schema, *, other_columns: tuple[str, ...] = ()) -> list[bytes]:
    """The payloads of rows, which are the same one by one and many at once."""
    payloads = Payloads(of, NAMES, other_columns=other_columns)
    one_by_one = [payloads.of(row) for row in rows]
    assert payloads.many(pa.RecordBatch.from_pylist(rows)) == one_by_one
    return one_by_one


@pytest.mark.parametrize("column", ["data", "value", "Data"])
@pytest.mark.parametrize("kind", ["string", "binary", "varchar(20)"])
def test_a_column_is_the_payload_as_it_is(column: str, kind: str) -> None:
    value: Any = b"\xff\x00" if kind == "binary" else "grün"
    expected = value if isinstance(value, bytes) else value.encode()
    assert both([{column: value}, {column: value[:0]}], schema(**{column: kind})) == [expected, b""]


def test_a_row_without_such_a_column_is_a_json_object() -> None:
    rows: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    assert both(rows, schema(id="bigint", name="string")) == [b'{"id":1,"name":"a"}', b'{"id":2}']


def test_columns_that_are_used_otherwise_are_no_part_of_the_json() -> None:
    rows = [{"id": 1, "PartitionKey": "a"}]
    of = schema(id="bigint", PartitionKey="string")
    assert both(rows, of, other_columns=("partitionKey", "explicitHashKey")) == [b'{"id":1}']


def test_columns_that_are_used_otherwise_may_stand_beside_a_payload() -> None:
    rows = [{"partitionKey": "a", "data": "x"}]
    assert both(rows, schema(partitionKey="string", data="string"), other_columns=("partitionKey",)) == [b"x"]


def test_a_payload_column_that_is_used_otherwise_is_none() -> None:
    rows = [{"value": "a", "id": 1}]
    assert both(rows, schema(value="string", id="bigint"), other_columns=("value",)) == [b'{"id":1}']


@pytest.mark.parametrize(
    ("of", "others", "sentence"),
    [
        (schema(data="bigint"), (), "column 'data' is of type bigint; a column of that name is the payload and"),
        (schema(data="string", id="bigint"), (), "so 'id' would not be sent; drop what is not to be sent, or rename"),
        (schema(data="string", value="string"), (), "so 'value' would not be sent"),
        (schema(id="interval day"), (), "interval day has no form in JSON: cast it to string, or drop it"),
        (schema(m="map<binary,int>"), (), "the key of a map must be a string"),
        (schema(partitionKey="string"), ("partitionKey",), "none is left to be sent; add a column 'data'"),
    ],
)
def test_columns_that_cannot_be_sent_are_refused_at_planning(
    of: Schema, others: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        Payloads(of, NAMES, other_columns=others)
    assert sentence in str(caught.value)


def test_a_type_without_form_in_json_may_be_used_otherwise() -> None:
    assert both([{"id": 1, "day": 7}], schema(id="bigint", day="interval day"), other_columns=("day",)) == [b'{"id":1}']


def test_a_null_payload_is_refused_by_column_and_row() -> None:
    payloads = Payloads(schema(data="string"), NAMES)
    batch = pa.RecordBatch.from_pydict({"data": ["a", None, None]})
    with pytest.raises(ValueError, match="column 'data' of row 1 of 3 is null, so there is nothing to send"):
        payloads.many(batch)
    with pytest.raises(ValueError, match="column 'data' is null, so there is nothing to send; filter such rows out"):
        payloads.of({"data": None})


@pytest.mark.parametrize(
    ("element", "payload"),
    [
        (b"one", b"one"),
        (bytearray(b"one"), b"one"),
        (memoryview(b"one"), b"one"),
        ("grün", "grün".encode()),
        ({"data": "x", "id": 1}, b'{"data":"x","id":1}'),
        ({"id": 1, "partitionKey": "a"}, b'{"id":1}'),
    ],
)
def test_elements_without_a_schema_are_payloads_or_objects(element: Any, payload: bytes) -> None:
    assert Payloads(None, NAMES, other_columns=("partitionKey",)).of(element) == payload


def test_an_element_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="an element of type int is neither a mapping"):
        Payloads(None, NAMES).of(7)
    with pytest.raises(ValueError, match="the payload is None, so there is nothing to send"):
        Payloads(None, NAMES).of(None)


def test_many_rows_are_slices_of_their_batch() -> None:
    batch = pa.RecordBatch.from_pylist([{"id": number} for number in range(6)])
    payloads = Payloads(schema(id="bigint"), NAMES)
    assert [json.loads(each)["id"] for each in payloads.many(batch.slice(2, 3))] == [2, 3, 4]


@pytest.mark.parametrize(
    ("of", "rows"),
    [
        (schema(data="string"), pa.record_batch({"data": ["a", "b", ""]})),
        (schema(data="binary"), pa.record_batch({"data": [b"\xff", b"", b"x"]})),
        (schema(id="bigint", name="string"), pa.record_batch({"id": [1, 2, 3], "name": ["a", None, '"']})),
    ],
)
def test_many_rows_are_a_column_too(of: Schema, rows: pa.RecordBatch) -> None:
    payloads = Payloads(of, NAMES)
    for batch in (rows, rows.slice(1, 2), rows.slice(3)):
        column = payloads.column_of(batch)
        assert isinstance(column, pa.LargeBinaryArray)
        assert column.to_pylist() == payloads.many(batch)
        assert not column.null_count


def test_a_null_payload_makes_no_column() -> None:
    with pytest.raises(ValueError, match="column 'data' of row 1 of 2 is null, so there is nothing to send"):
        Payloads(schema(data="string"), NAMES).column_of(pa.record_batch({"data": ["a", None]}))
