"""Rows and payloads to entries, one by one and a batch at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import Column, Schema, SchemaError, WriteContext
from asyncsink_firehose import FirehoseSink

CONTEXT = WriteContext()


def schema_of(**types: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in types.items()))


def entries_of(sink: FirehoseSink, schema: Schema | None, batch: pa.RecordBatch) -> list[bytes]:
    """The entries of a batch, which must be the same as those of its rows."""
    block = sink.converter(schema).apply_batch(batch, CONTEXT)
    entries = list(block)
    assert [block.size_in_bytes(at, at + 1) for at in range(len(block))] == [*map(sink.size_in_bytes, entries)]
    assert [sink.converter(schema).apply(row, CONTEXT) for row in batch.to_pylist()] == entries
    return entries


def sink_of(**options: Any) -> FirehoseSink:
    return FirehoseSink(delivery_stream="clicks", **options)


ROWS = pa.record_batch(
    {
        "id": pa.array([1, 2], pa.int64()),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "at": pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
    }
)
ROW_SCHEMA = schema_of(id="bigint", price="decimal(5,2)", at="timestamp")


def test_rows_become_lines_of_json() -> None:
    assert entries_of(sink_of(), ROW_SCHEMA, ROWS) == [
        b'{"id":1,"price":1.50,"at":"2026-01-02T00:00:00.000Z"}\n',
        b'{"id":2,"at":"2026-01-02T00:00:00.000Z"}\n',
    ]


@pytest.mark.parametrize(("delimiter", "behind"), [("none", b""), ("\\r\\n", b"\r\n"), ("|", b"|"), ("newline", b"\n")])
def test_the_delimiter_of_rows_can_be_chosen(delimiter: str, behind: bytes) -> None:
    found = entries_of(sink_of(delimiter=delimiter), ROW_SCHEMA, ROWS)
    assert all(entry.endswith(b'Z"}' + behind) for entry in found)


@pytest.mark.parametrize("name", ["data", "value", "DATA"])
@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_string()])
def test_a_column_of_payloads_is_sent_as_it_is(name: str, kind: pa.DataType) -> None:
    schema = schema_of(**{name: "binary" if kind == pa.binary() else "string"})
    batch = pa.record_batch({name: pa.array(["a", "ä\nb"]).cast(kind)})
    assert entries_of(sink_of(), schema, batch) == [b"a", "ä\nb".encode()]


def test_a_column_of_payloads_gets_a_delimiter_if_one_is_given_or_rows_are_packed() -> None:
    batch = pa.record_batch({"data": pa.array([b"a", b"b\n"], pa.binary())})
    schema = schema_of(data="binary")
    assert entries_of(sink_of(delimiter="newline"), schema, batch) == [b"a\n", b"b\n"]
    assert entries_of(sink_of(packing="rows"), schema, batch) == [b"a\n", b"b\n"]
    assert entries_of(sink_of(delimiter="|"), schema, batch) == [b"a|", b"b\n|"]


def test_bytes_that_are_no_utf8_in_a_column_of_strings_are_replaced() -> None:
    broken = pa.array([b"a\xff", b"b"], pa.binary()).view(pa.string())
    block = sink_of().converter(schema_of(data="string")).apply_batch(pa.record_batch({"data": broken}), CONTEXT)
    assert list(block) == ["a\ufffd".encode(), b"b"]


@pytest.mark.parametrize(
    ("element", "entry"),
    [
        (b"a", b"a"),
        ("ä", "ä".encode()),
        (bytearray(b"a"), b"a"),
        (memoryview(b"a"), b"a"),
        ({"id": 1}, b'{"id":1}\n'),
        ({"data": "a"}, b'{"data":"a"}\n'),
    ],
)
def test_a_programs_elements_are_payloads_or_become_json(element: Any, entry: bytes) -> None:
    assert sink_of().converter(None).apply(element, CONTEXT) == entry


@pytest.mark.parametrize("element", [7, 1.5, ["a"], object()])
def test_an_element_that_is_neither_is_refused(element: Any) -> None:
    with pytest.raises(TypeError, match=f"an element of type {type(element).__name__} is neither"):
        sink_of().converter(None).apply(element, CONTEXT)


@pytest.mark.parametrize(
    ("element", "told"), [(None, "there is nothing to send"), (b"", "empty"), ("", "empty"), (b"a\nb", "delimiter")]
)
def test_a_payload_that_could_not_be_found_again_is_refused(element: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        sink_of(packing="rows").converter(None).apply(element, CONTEXT)


def test_a_row_at_fault_is_named_by_its_place_in_the_batch() -> None:
    converter = sink_of(delimiter="|").converter(schema_of(text="string"))
    with pytest.raises(ValueError, match=r"^row 1: the payload holds the delimiter b'\|'"):
        converter.apply_batch(pa.record_batch({"text": pa.array(["a", "b|c"])}), CONTEXT)


@pytest.mark.parametrize(
    ("types", "told"),
    [
        ({"data": "int"}, "column 'data' is of type int"),
        ({"data": "binary", "id": "bigint"}, "'id' would not be sent"),
        ({"id": "bigint", "wait": "interval day"}, "column 'wait' is of type interval day"),
    ],
)
def test_columns_that_cannot_be_sent_are_refused_before_anything_runs(types: dict[str, str], told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        sink_of().converter(schema_of(**types))
