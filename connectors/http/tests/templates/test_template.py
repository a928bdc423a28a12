"""Templates: what is one, and that whole batches are rendered as single rows are, value by value."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import Column, ConfigurationError, Schema, SchemaError
from asyncsink_http.templates.encoders import JSON, PATH, QUERY, READY, TEXT, Encoder
from asyncsink_http.templates.template import Template


def template(text: str, encoder: Encoder = TEXT, **options: Any) -> Template:
    return Template.parse("url", text, encoder, **options)


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


@pytest.mark.parametrize(
    ("text", "columns", "rendered"),
    [
        ("", [], ""),
        ("plain", [], "plain"),
        ("{a}", ["a"], "1"),
        ("x{a}y{b}z{a}", ["a", "b"], "x1y2z1"),
        ("{a}{b}", ["a", "b"], "12"),
        ("{{a}}", [], "{a}"),
        ("{{{a}}}", ["a"], "{1}"),
        ('{{"id":{a}}}', ["a"], '{"id":1}'),
        ("{a b}", ["a b"], "3"),
    ],
)
def test_a_template_is_text_and_columns(text: str, columns: list[str], rendered: str) -> None:
    made = template(text)
    assert made.columns == columns
    assert made.render({"a": 1, "b": "2", "a b": 3}) == rendered
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("text", ["{", "}", "{a", "a}", "{}", "{a{b}", "{a}}", "{{{a}}", '{"a":{b}}'])
def test_a_brace_that_is_part_of_nothing_is_refused_without_the_text(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"option 'url' holds a brace .*; write \{name\}") as raised:
        template(f"s3cret{text}")
    assert "s3cret" not in str(raised.value)


def test_names_compare_without_case_where_there_is_a_schema() -> None:
    bound = template("{ID}-{id}").bound(schema_of(Id="bigint"))
    assert bound.columns == ["Id"]
    assert bound.render({"Id": 7}) == "7-7"


@pytest.mark.parametrize(
    ("text", "columns", "sentence"),
    [
        ("{idd}", {"id": "int"}, "option 'url' has a place for the column 'idd', and there is none of that name; did "),
        ("{idd}", {"id": "int"}, "did you mean 'id'?; write {{ and }} for braces that are meant as such"),
        ("{id}", {"id": "double"}, "column 'id' is of type double, and option 'url' has a place for it; there a value"),
        ("{id}", {"id": "binary"}, "column 'id' is of type binary"),
        ("{id}", {"id": "struct<a:int>"}, "column 'id' is of type struct<a:int>"),
        ("{id}", {"id": "array<string>"}, "cast it to string"),
    ],
)
def test_columns_are_checked_when_the_query_is_planned(text: str, columns: dict[str, str], sentence: str) -> None:
    with pytest.raises(SchemaError) as raised:
        template(text).bound(schema_of(**columns))
    assert sentence in str(raised.value)


def test_what_may_be_part_of_a_secret_is_not_named() -> None:
    with pytest.raises(SchemaError) as raised:
        template("{s3cret}", is_secret=True).bound(schema_of(id="int"))
    assert "has a place for a column, and there is none of that name; the columns are id" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_missing_column_is_named_unless_that_may_be_part_of_a_secret() -> None:
    with pytest.raises(ValueError, match="there is no column 'v', and option 'url' has a place for it"):
        template("{v}").render({})
    with pytest.raises(ValueError, match="there is no column, and option 'url'") as raised:
        template("{s3cret}", is_secret=True).render({})
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("kind", ["double", "array<int>", "map<string,int>", "struct<a:binary>"])
def test_json_takes_whatever_a_row_of_json_may_hold(kind: str) -> None:
    assert template("{v}", JSON).bound(schema_of(v=kind)).columns == ["v"]
    with pytest.raises(SchemaError, match="interval has no form in JSON"):
        template("{v}", JSON).bound(schema_of(v="interval"))


def test_what_is_given_beside_the_row_needs_no_column() -> None:
    made = template('{{"n":{n},"row":{row}}}', JSON, others={"row": READY})
    bound = made.bound(schema_of(n="int"), given=("row",))
    assert bound.render({"n": None, "row": b'{"n":1}'}) == '{"n":null,"row":{"n":1}}'
    batch = pa.RecordBatch.from_pydict({"n": [1, None], "row": pa.array([b"[1]", b"{}"], pa.large_binary())})
    assert bound.render_columns(batch).to_pylist() == ['{"n":1,"row":[1]}', '{"n":null,"row":{}}']


@pytest.mark.parametrize("encoder", [TEXT, PATH, QUERY])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "column 'v' cannot be written into option 'url': it is null; filter such rows out"),
        (1.5, "it is of type float; cast it to a string"),
        (b"x", "it is of type bytes"),
        ([1], "it is of type list"),
        (object(), "it is of type object"),
    ],
)
def test_values_without_a_text_are_refused(encoder: Encoder, value: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match="cannot be written") as raised:
        template("x{v}", encoder).render({"v": value})
    assert sentence in str(raised.value)


def test_an_empty_value_has_no_place_in_a_path_but_in_a_query() -> None:
    assert template("?q={v}", QUERY).render({"v": ""}) == "?q="
    with pytest.raises(ValueError, match="it is empty, and the path would lead elsewhere"):
        template("/{v}", PATH).render({"v": ""})
    with pytest.raises(ValueError, match="it is empty"):
        template("/{v}", PATH).render_columns(pa.RecordBatch.from_pydict({"v": ["a", ""]}))


def test_a_null_in_a_column_is_refused_as_in_a_row() -> None:
    with pytest.raises(ValueError, match="column 'v' cannot be written into option 'url': it is null"):
        template("/{v}", PATH).render_columns(pa.RecordBatch.from_pydict({"v": ["a", None]}))


@given(st.text(min_size=1))
def test_no_value_leaves_its_segment_of_a_path(value: str) -> None:
    (segment,) = template("{v}", PATH).render({"v": value}).split("/")
    assert not set(segment) & set("?#@:;&=\\ \r\n")
    assert unquote(segment) == value


TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text(),
    pa.large_string(): st.text(),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(date(1, 1, 1)),
    pa.timestamp("us"): TIMES,
    pa.timestamp("us", "UTC"): TIMES.map(lambda each: each.replace(tzinfo=UTC)),
    pa.decimal128(38, 6): st.integers(-(10**20), 10**20).map(lambda each: Decimal(each).scaleb(-6)),
    pa.dictionary(pa.int32(), pa.string()): st.sampled_from(["", "a", "é/ü", "../", "€"]),
}


@st.composite
def batches(draw: st.DrawFn, *, nulls: bool) -> pa.RecordBatch:
    """Two columns of any types, as a slice of a longer batch."""
    rows = draw(st.integers(0, 8))
    columns = []
    for kind in (draw(st.sampled_from([*KINDS])), draw(st.sampled_from([*KINDS]))):
        values = KINDS[kind] if not nulls else KINDS[kind] | st.none()
        found = draw(st.lists(values, min_size=rows, max_size=rows))
        columns.append(
            pa.array(found, kind.value_type).dictionary_encode()
            if pa.types.is_dictionary(kind)
            else pa.array(found, kind)
        )
    batch = pa.RecordBatch.from_arrays(columns, ["a", "b"])
    first = draw(st.integers(0, rows))
    return batch.slice(first, draw(st.integers(0, rows - first)))


@given(batches(nulls=False), st.sampled_from([TEXT, QUERY]), st.sampled_from(["{a}/{b}", "x{b}", "{a}{a}y", "z"]))
def test_batches_are_rendered_as_their_rows(batch: pa.RecordBatch, encoder: Encoder, text: str) -> None:
    made = template(text, encoder)
    assert made.render_columns(batch).to_pylist() == [made.render(row) for row in batch.to_pylist()]


@given(batches(nulls=True), st.sampled_from(['{{"a":{a},"b":[{b}]}}', "[{a}]", "[]"]))
def test_json_of_batches_is_that_of_their_rows(batch: pa.RecordBatch, text: str) -> None:
    made = template(text, JSON)
    found = made.render_columns(batch).to_pylist()
    assert [json.loads(each) for each in found] == [json.loads(made.render(row)) for row in batch.to_pylist()]


def test_a_string_that_is_no_utf8_is_rendered_with_replacement_characters() -> None:
    text = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"b"]).buffers())
    batch = pa.RecordBatch.from_arrays([text], ["v"])
    assert template("{v}", PATH).render_columns(batch).to_pylist() == ["%EF%BF%BD", "b"]
    assert template("{v}", JSON).render_columns(batch).to_pylist() == ['"\ufffd"', '"b"']
