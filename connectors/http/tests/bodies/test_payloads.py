"""Payloads of forms, of raw bytes and by a template: whole Arrow batches give those of single rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import Column, ConfigurationError, Schema, SchemaError
from asyncsink_http import HttpOptions
from asyncsink_http.bodies.payloads import RowPayloads, payloads_of

NAMES = ("body", "value")
BULK = '{{"index":{{"_id":{id}}}}}\n{row}'


def made(schema: Schema | None = None, **options: Any) -> RowPayloads:
    return payloads_of(HttpOptions.of(url="http://localhost", **options).resolved(), schema, NAMES)


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def of_both(schema: Schema, batch: pa.RecordBatch, **options: Any) -> list[bytes]:
    """The payloads of a batch, which have to be those of its rows."""
    payloads = made(schema, **options)
    found: list[bytes] = payloads.column_of(batch).to_pylist()
    assert payloads.column_of(batch).type == pa.large_binary()
    assert found == [payloads.of(row) for row in batch.to_pylist()]
    return found


def test_a_form_has_each_column_as_the_text_that_json_has_for_it() -> None:
    batch = pa.RecordBatch.from_pylist(
        [
            {
                "name": "a&b=ü +\n",
                "amount": Decimal("1234567890123456789.10"),
                "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                "day": date(2026, 1, 2),
                "ok": True,
                "rate": 0.1,
                "data": b"\xff\x00",
                "note": None,
            }
        ]
    )
    kinds = ("string", "decimal(21,2)", "timestamp", "date", "boolean", "double", "binary", "string")
    schema = schema_of(**dict(zip(batch.schema.names, kinds, strict=True)))
    (payload,) = of_both(schema, batch, body="form")
    assert dict(parse_qsl(payload.decode(), strict_parsing=True)) == {
        "name": "a&b=ü +\n",
        "amount": "1234567890123456789.10",
        "at": "2026-01-02T03:04:05.000Z",
        "day": "2026-01-02",
        "ok": "true",
        "rate": "0.1",
        "data": "/wA=",
    }


@given(st.dictionaries(st.sampled_from(["a", "b&", "é="]), st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_form_is_read_back_as_it_was(row: dict[str, str]) -> None:
    assert dict(parse_qsl(made(body="form").of(row).decode(), keep_blank_values=True)) == row


def test_a_column_called_body_is_a_field_of_a_form() -> None:
    schema = schema_of(body="string", id="int")
    assert of_both(schema, pa.RecordBatch.from_pydict({"body": ["x"], "id": [1]}), body="form") == [b"body=x&id=1"]


def test_a_form_that_is_ready_is_sent_as_it_is() -> None:
    assert made(body="form").of("a=1&b=2") == b"a=1&b=2"


@pytest.mark.parametrize(("value", "kind"), [([1], "a list"), ({"a": 1}, "an object")])
def test_a_field_of_several_values_is_refused(value: object, kind: str) -> None:
    with pytest.raises(ValueError, match=f"'tags' is {kind}; a field of a form holds one value"):
        made(body="form").of({"tags": value})


def test_raw_sends_the_bytes_of_the_column_which_may_be_empty() -> None:
    batch = pa.RecordBatch.from_pydict({"body": [b"\xff\x00\n", b""]})
    assert of_both(schema_of(body="binary"), batch, body="raw") == [b"\xff\x00\n", b""]
    assert made(body="raw").of(b"\xff") == b"\xff"
    with pytest.raises(TypeError, match="body=raw sends bytes and strings, and the element is a mapping"):
        made(body="raw").of({"id": 1})


def test_a_template_has_the_row_and_its_columns_in_their_places() -> None:
    batch = pa.RecordBatch.from_pydict({"id": ["a\nb", None], "n": [1, 2]})
    found = of_both(schema_of(id="string", n="int"), batch, body="template", template_row=BULK)
    assert found == [
        b'{"index":{"_id":"a\\nb"}}\n{"id":"a\\nb","n":1}',
        b'{"index":{"_id":null}}\n{"n":2}',
    ]


def test_by_default_a_template_is_the_row() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1]})
    assert of_both(schema_of(id="int"), batch, body="template") == [b'{"id":1}']
    ready = pa.RecordBatch.from_pydict({"body": [b"\xff"]})
    assert of_both(schema_of(body="binary"), ready, body="template") == [b"\xff"]


def test_beside_a_payload_column_the_template_uses_the_others() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1], "Value": ['{"a":1}']})
    found = of_both(schema_of(id="int", Value="string"), batch, body="template", template_row="{ID}:{row}")
    assert found == [b'1:{"a":1}']


def test_the_payload_column_may_have_a_place_of_its_own() -> None:
    batch = pa.RecordBatch.from_pydict({"body": ["a"]})
    assert of_both(schema_of(body="string"), batch, body="template", template_row="{body}{row}") == [b'"a"a']


def test_a_template_without_the_row_needs_its_columns_alone() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [7], "body": ["not sent"]})
    schema = schema_of(id="int", body="string", wait="interval")
    batch = batch.append_column("wait", pa.array([None], pa.int32()))
    assert of_both(schema, batch, body="template", template_row="[{id}]") == [b"[7]"]


@pytest.mark.parametrize("options", [{"template_row": BULK}, {"template_separator": "\n"}])
def test_a_payload_that_is_ready_cannot_break_out_of_its_line(options: dict[str, Any]) -> None:
    text = '{"a":1}\n{"delete":{"_id":1}}'
    schema = schema_of(id="int", body="string") if "template_row" in options else schema_of(body="string")
    batch = pa.RecordBatch.from_pydict({"id": [1], "body": [text]}).select(schema.names)
    payloads = made(schema, body="template", **options)
    with pytest.raises(ValueError, match="the payload holds a line break, and in this template"):
        payloads.of(batch.to_pylist()[0])
    with pytest.raises(ValueError, match="the payload holds a line break, and in this template"):
        payloads.column_of(batch)
    with pytest.raises(ValueError, match="the payload holds a line break, and in this template"):
        made(body="template", **options).of(text)


def test_where_no_line_break_parts_rows_a_payload_may_hold_one() -> None:
    assert made(body="template").of("[\n1]") == b"[\n1]"


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"id": "int", "tags": "array<int>"}, {"body": "form"}, "column 'tags' is of type array<int>; a field of a"),
        ({"id": "interval"}, {"body": "form"}, "interval has no form in JSON"),
        ({"id": "int"}, {"body": "raw"}, "body=raw sends a column 'body' or 'value', and the columns are 'id'"),
        ({"id": "int"}, {"body": "template", "template_row": "{idd}"}, "option 'template.row' has a place for the"),
    ],
)
def test_rows_that_a_body_cannot_carry_are_refused_when_the_query_is_planned(
    columns: dict[str, str], options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SchemaError) as raised:
        made(schema_of(**columns), **options)
    assert sentence in str(raised.value)


def test_a_form_of_no_fields_is_refused() -> None:
    options = HttpOptions.of(url="http://localhost", body="form").resolved()
    with pytest.raises(SchemaError, match="none is left for the fields of a form"):
        payloads_of(options, schema_of(id="int"), NAMES, other_columns=["ID"])


def test_a_template_of_one_row_for_all_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"option 'template.row' = '\{\{\}\}' has no place for anything"):
        HttpOptions.of(url="http://localhost", body="template", template_row="{{}}")
