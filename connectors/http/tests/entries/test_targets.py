"""Whom rows go to: what columns and templates may decide, and that no row goes where it may not."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import Column, Schema, SchemaError, WriteContext, WriterInitContext
from asyncsink_http import HttpSink
from asyncsink_http.client.connecting import address_of
from asyncsink_http.entries.converter import HttpConverter
from asyncsink_http.entries.entry import Row
from asyncsink_http.entries.target import Target

URL = "https://api.example.com/in"


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def converter(schema: Schema | None = None, **options: Any) -> HttpConverter:
    made = HttpSink(**{"url": URL, **options}).converter(schema)
    made.open(WriterInitContext(query_id="query", batch_id=4, writer_id=2))
    return made


def of_row(row: Any, schema: Schema | None = None, **options: Any) -> Row:
    entry = converter(schema, **options).apply(row, WriteContext())
    assert isinstance(entry, Row)
    return entry


def of_batch(batch: pa.RecordBatch, schema: Schema, **options: Any) -> list[Any]:
    block = converter(schema, **options).apply_batch(batch, WriteContext())
    return [block[index] for index in range(len(block))]


OPTIONS: dict[str, Any] = {
    "url": "https://h/t/{tenant}/{id}?at={at}",
    "method": "{op}",
    "headers": {"X-Id": "id {id}", "X-Fixed": "1"},
    "body": "single",
}
ROW = {"tenant": "é/ü", "id": 7, "at": "a&b", "op": "patch"}
TARGET = Target("PATCH", "https://h/t/%C3%A9%2F%C3%BC/7?at=a%26b", (("X-Id", "id 7"),))


def test_templates_make_method_address_and_headers_of_a_row() -> None:
    entry = of_row(ROW, **OPTIONS)
    assert entry.target == TARGET
    assert entry.payload == '{"tenant":"é/ü","id":7,"at":"a&b","op":"patch"}'.encode()


def test_a_column_of_a_template_stays_in_the_body_unless_it_is_excluded() -> None:
    assert of_row(ROW, **OPTIONS, body_exclude="op, tenant").payload == b'{"id":7,"at":"a&b"}'
    schema = schema_of(Op="string", id="int")
    batch = pa.RecordBatch.from_pydict({"Op": ["put"], "id": pa.array([1], pa.int32())})
    (entry,) = of_batch(batch, schema, method="{op}", body_exclude="OP")
    assert (entry.target.method, entry.payload) == ("PUT", b'{"id":1}')
    with pytest.raises(SchemaError, match=r"option 'bodyExclude' names the column 'opp', .* did you mean 'Op'"):
        converter(schema, body_exclude="opp")


def test_without_templates_and_columns_rows_have_no_target() -> None:
    assert converter().apply({"id": 1}, WriteContext()) == b'{"id":1}'
    assert of_row({"id": 1}, body="single").target is None


BESIDE = schema_of(
    body="string", URL="string", method="varchar(6)", headers="map<string,string>", idempotencykey="bigint"
)
BESIDE_ROW: dict[str, Any] = {
    "body": "<a/>",
    "URL": "HTTPS://API.example.com:443/other?q=1",
    "method": "delete",
    "headers": {"X-A": "1"},
    "idempotencykey": 12,
}


def arrow(rows: list[dict[str, Any]], schema: Schema) -> pa.RecordBatch:
    kinds = {"string": pa.string(), "bigint": pa.int64(), "map<string,string>": pa.map_(pa.string(), pa.string())}
    arrays = []
    for column in schema.columns:
        values = [row[column.name] for row in rows]
        pairs = [list(each.items()) if isinstance(each, dict) else each for each in values]
        arrays.append(pa.array(pairs, kinds.get(column.type, pa.string())))
    return pa.RecordBatch.from_arrays(arrays, schema.names)


def test_columns_beside_a_payload_decide_what_options_decide_of_all() -> None:
    entry = of_row(BESIDE_ROW, BESIDE, body="single")
    assert entry == Row(b"<a/>", Target("DELETE", "HTTPS://API.example.com:443/other?q=1", (("X-A", "1"),)), "12")
    assert of_batch(arrow([BESIDE_ROW], BESIDE), BESIDE, body="single") == [entry]


def test_columns_of_these_names_are_data_in_a_row_that_becomes_json() -> None:
    row = {"id": 1, "url": "http://elsewhere", "method": "none", "idempotencyKey": "k"}
    schema = schema_of(id="bigint", url="string", method="string", idempotencyKey="string")
    assert converter(schema).apply(row, WriteContext()) == converter().apply(row, WriteContext())
    assert b"http://elsewhere" in of_batch(pa.RecordBatch.from_pylist([row]), schema)[0]


def test_the_columns_of_templates_may_stand_beside_a_payload() -> None:
    schema = schema_of(value="string", id="string")
    entry = of_row({"value": "v", "id": "a b"}, schema, url="https://h/{ID}")
    assert entry == Row(b"v", Target("POST", "https://h/a%20b"))
    with pytest.raises(SchemaError, match="'more' would not be sent"):
        converter(schema_of(value="string", id="string", more="int"), url="https://h/{id}")


def test_a_delete_needs_no_payload() -> None:
    schema = schema_of(body="string", method="string")
    rows: list[dict[str, Any]] = [{"body": None, "method": "DELETE"}, {"body": "1", "method": "put"}]
    found = of_batch(arrow(rows, schema), schema, body="single")
    assert [(each.payload, each.target.method) for each in found] == [(b"", "DELETE"), (b"1", "PUT")]
    assert [of_row(row, schema, body="single").payload for row in rows] == [b"", b"1"]
    row = {"body": None, "method": "PUT"}
    with pytest.raises(ValueError, match="column 'body' is null"):
        of_row(row, schema, body="single")
    with pytest.raises(ValueError, match="column 'body' of row 0 of 1 is null"):
        of_batch(arrow([row], schema), schema, body="single")


def test_deletes_of_an_option_need_no_payload_either() -> None:
    schema = schema_of(body="string", id="bigint")
    batch = arrow([{"body": None, "id": 3}], schema)
    (entry,) = of_batch(batch, schema, method="DELETE", url="https://h/{id}")
    assert (entry.payload, entry.target) == (b"", Target("DELETE", "https://h/3"))


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"body": "string", "url": "int"}, {}, "column 'url' is of type int; beside a payload column one of that name"),
        ({"body": "string", "method": "binary"}, {}, "column 'method' is of type binary"),
        ({"body": "string", "headers": "map<string,int>"}, {}, "must be map<string,string>"),
        (
            {"body": "string", "idempotencyKey": "double"},
            {"body": "single"},
            "column 'idempotencyKey' is of type double",
        ),
        (
            {"body": "string", "idempotencyKey": "string"},
            {},
            "body=json-array sends many rows under one key; set body=",
        ),
        (
            {"body": "string", "idempotencyKey": "string"},
            {"body": "single", "idempotency_key": False},
            "option 'idempotencyKey' is false; drop one of them",
        ),
        ({"body": "string", "url": "string", "id": "int"}, {"url": "https://h/{id}"}, "column 'url' holds the url of"),
        ({"body": "string", "method": "string", "m": "string"}, {"method": "{m}"}, "option 'method' = '{m}' makes"),
        ({"id": "int"}, {"url": "https://h/{idd}"}, "option 'url' has a place for the column 'idd'"),
        ({"id": "double"}, {"headers": {"X-A": "{id}"}}, "option 'header.X-A' has a place for it"),
    ],
)
def test_columns_that_cannot_be_used_are_refused_when_the_query_is_planned(
    columns: dict[str, str], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SchemaError) as raised:
        converter(schema_of(**columns), **options)
    assert sentence in str(raised.value)


def refused(row: dict[str, Any], schema: Schema, **options: Any) -> str:
    """What is said of a row that is refused, by itself and in a batch alike."""
    with pytest.raises(ValueError, match=r"\S") as alone:
        of_row(row, schema, **options)
    with pytest.raises(ValueError, match=r"\S") as batched:
        of_batch(arrow([row], schema), schema, **options)
    assert str(alone.value) == str(batched.value)
    return str(alone.value)


@pytest.mark.parametrize("value", [".", "..", "", None])
def test_no_row_shortens_the_path_of_a_template(value: str | None) -> None:
    schema = schema_of(id="string", x="string")
    for url in ("https://h/a/{id}", "https://h/{id}/b", "https://h/a/{id}?q=1", "https://h/a/{id};v=1"):
        assert "filter such rows out" in refused({"id": value, "x": "1"}, schema, url=url)


@pytest.mark.parametrize(
    "url", ["https://h/{x}{x}/b", "https://h/.{x}", "https://h/%2e{x}", "https://h/a/{x}%2E?q={x}"]
)
def test_no_parts_of_a_segment_make_it_lead_up_together(url: str) -> None:
    assert "which would lead elsewhere" in refused({"x": ".", "y": ""}, schema_of(x="string", y="string"), url=url)


@pytest.mark.parametrize(
    "value",
    ["a/up", "..up/..a", "%2e%2e", "a?b", "a#b", "a@evil.com", "//evil.com", "\\evil", "a\r\nX: y", "a b", "é", "a;b"],
)
def test_no_value_leaves_its_place_in_a_path(value: str) -> None:
    target = of_row({"id": value}, url="https://h/a/{id}/b?c=1").target
    assert target is not None
    before, _, behind = target.url.partition("/a/")
    segment, rest = behind.split("/")
    assert (before, rest) == ("https://h", "b?c=1")
    assert segment.isascii()
    assert not set(segment) & set("?#@;\\ \r\n")


@pytest.mark.parametrize("value", ["../up", "a/../../up", "a/..", "a/./b", "..\\up", "a\\..\\..\\up", "..;/up", "..;x"])
def test_no_value_leads_up_where_a_server_decodes_it_first(value: str) -> None:
    assert "which would lead elsewhere" in refused({"id": value}, schema_of(id="string"), url="https://h/a/{id}/b")


def test_no_row_has_an_address_that_the_client_does_not_read() -> None:
    schema, url = schema_of(id="string"), "https://h/a/{id}"
    said = refused({"id": "a" * (65_537 - len("https://h/a/"))}, schema, url=url)
    assert "the address of the row has 65537 characters, and no more than 65536 can be sent" in said
    target = of_row({"id": "a" * (65_536 - len("https://h/a/"))}, schema, url=url).target
    assert target is not None
    assert len(address_of(target.url).url.target) == 65_536 - len("https://h")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (
            "https://evil.com/in",
            "it leads to https://evil.com:443, and neither option 'url' nor option 'urlAllow' does",
        ),
        ("http://api.example.com/in", "it leads to http://api.example.com:80"),
        ("https://api.example.com:8443/in", "it leads to https://api.example.com:8443"),
        ("https://api.example.com.evil.com/in", "it leads to https://api.example.com.evil.com:443"),
        ("https://eu.example.com/other", "it leads to https://eu.example.com:443"),
        ("https://eu.example.com/inside", "it leads to https://eu.example.com:443"),
        ("https://eu.example.com/in/../other", "it has a segment . or .. in its path"),
        ("https://eu.example.com/in/%2e%2E/other", "it has a segment . or .. in its path"),
        ("https://eu.example.com/in/..;a=1/other", "it has a segment . or .. in its path"),
        ("https://eu.example.com/in/..%2fother", "it has a segment . or .. in its path"),
        ("https://eu.example.com/in/a%2F%2e%2e%2F..%5Cother", "it has a segment . or .. in its path"),
        ("https://me:pw@api.example.com/in", "it is no address that can be sent to"),
        ("https://api.example.com@evil.com/", "it is no address that can be sent to"),
        ("https://api.example.com\\@evil.com/", "it is no address that can be sent to"),
        ("https://api.example.com/a b", "it is no address that can be sent to"),
        ("https://api.example.com/a\r\nHost: b", "it is no address that can be sent to"),
        ("https://api.example.com/a#b", "it is no address that can be sent to"),
        ("https://api.example.com/é", "it is no address that can be sent to"),
        ("https://api.example.com:69999/", "column 'url' cannot be used: "),
        ("//api.example.com/a", "it is no address that can be sent to"),
        ("/a", "it is no address that can be sent to"),
        ("", "it is no address that can be sent to"),
        ("file:///etc/passwd", "it is no address that can be sent to"),
        (None, "it is null"),
    ],
)
def test_a_column_never_leads_where_the_options_do_not(url: str | None, sentence: str) -> None:
    schema = schema_of(body="string", url="string")
    said = refused({"body": "1", "url": url}, schema, url_allow="https://eu.example.com/in")
    assert sentence in said
    assert "pw" not in said


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com",
        "https://API.EXAMPLE.COM:443/x?y=%20",
        "https://eu.example.com/in",
        "https://eu.example.com/in/a",
    ],
)
def test_a_column_leads_to_the_host_of_the_url_and_under_what_is_allowed(url: str) -> None:
    schema = schema_of(body="string", url="string")
    entry = of_row({"body": "1", "url": url}, schema, url_allow=" https://eu.example.com/in , https://us.example.com")
    assert entry.target == Target("POST", url)


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"Authorization": "Bearer x"}, "the row's header 'Authorization' is not for rows to set"),
        ({"proxy-authorization": "x"}, "is not for rows to set; credentials and what tells of the body"),
        ({"Cookie": "x"}, "is not for rows to set"),
        ({"Host": "evil"}, "is not for rows to set"),
        ({"content-length": "0"}, "is not for rows to set"),
        ({"Expect": "100-continue"}, "is not for rows to set"),
        ({"Upgrade": "h2c"}, "is not for rows to set"),
        ({"Idempotency-Key": "x"}, "is not for rows to set"),
        ({"X A": "1"}, "a key of column 'headers' names no header"),
        ({"X\r\nY": "1"}, "a key of column 'headers' names no header"),
        ({"": "1"}, "a key of column 'headers' names no header"),
        ({"X": "s3cret\r\nY: 1"}, "the row's header 'X' holds a line break or a character beyond Latin-1"),
        ({"X": "€"}, "the row's header 'X' holds a line break"),
        ({"X": "a "}, "or begins or ends with a blank"),
        ({"X": None}, "the row's header 'X' is null; leave it out of the map"),
        ({"X": "1", "x": "2"}, "two headers of the row have the same name"),
    ],
)
def test_no_row_sets_a_header_that_is_not_its_own(headers: dict[str, str | None], sentence: str) -> None:
    said = refused({"body": "1", "headers": headers}, schema_of(body="string", headers="map<string,string>"))
    assert sentence in said
    assert "s3cret" not in said


@pytest.mark.parametrize("headers", [{"X-A": "{a}"}, {}], ids=["template", "column"])
def test_no_row_sets_a_header_that_aiohttp_cannot_send(headers: dict[str, str]) -> None:
    schema = schema_of(body="string", a="string", headers="map<string,string>")
    row = {"body": "1", "a": "é" if headers else "", "headers": None if headers else {"X-A": "é"}}
    said = refused(row, schema, headers=headers, transport="aiohttp", body_exclude="a")
    assert "the row's header 'X-A' holds a character beyond ASCII, which transport=aiohttp cannot send" in said
    target = of_row(row, schema, headers=headers, body_exclude="a").target
    assert target is not None
    assert target.headers == (("X-A", "é"),)


def test_a_target_shows_neither_its_query_nor_its_headers() -> None:
    assert (
        repr(Target("PUT", "https://h/a?sig=s3cret", (("X-A", "s3cret"),))) == "<Target PUT https://h/a?*** with X-A>"
    )


def test_a_map_of_headers_may_be_null_or_empty_and_goes_before_a_template() -> None:
    schema = schema_of(body="string", headers="map<string,string>", id="string")
    rows = [{"body": "1", "headers": each, "id": "7"} for each in (None, {}, {"x-id": "own", "X-B": "2"})]
    options: dict[str, Any] = {"headers": {"X-Id": "{id}"}}
    found = [of_row(row, schema, **options).target for row in rows]
    assert [each and each.headers for each in found] == [
        (("X-Id", "7"),),
        (("X-Id", "7"),),
        (("x-id", "own"), ("X-B", "2")),
    ]
    assert [each.target for each in of_batch(arrow(rows, schema), schema, **options)] == found


@pytest.mark.parametrize("value", ["a\nb", "a\0", "€", " a", "a\t"])
def test_a_template_of_a_header_takes_no_value_that_no_header_can_carry(value: str) -> None:
    schema = schema_of(v="string")
    assert "the row's header 'X' holds a line break" in refused({"v": value}, schema, headers={"X": "{v}"})


def test_credentials_are_no_templates() -> None:
    sink = HttpSink(url=URL, headers={"Authorization": "Key {id}", "Cookie": "{a}=1", "X-Braces": "{{1}}"})
    assert not sink.has_routes
    assert sink.options.fixed_headers == {"Authorization": "Key {id}", "Cookie": "{a}=1", "X-Braces": "{1}"}


@pytest.mark.parametrize("value", ["get", "", "TRACE", "PUT /x HTTP/1.1"])
def test_no_row_has_another_method_than_those_that_send_rows(value: str) -> None:
    assert "the method of the row must be POST or PUT or PATCH or DELETE" in refused(
        {"op": value}, schema_of(op="string"), method="{op}"
    )


def test_a_delete_never_shares_a_body() -> None:
    schema = schema_of(op="string")
    said = refused({"op": "DELETE"}, schema, method="{op}", body="ndjson")
    assert said == "the method of the row is DELETE, which carries no body; set body=single to send it"


@pytest.mark.parametrize("key", [None, "", " a", "a\n", "€"])
def test_a_key_of_a_row_is_one_that_a_header_can_carry(key: str | None) -> None:
    schema = schema_of(body="string", idempotencyKey="string")
    said = refused({"body": "1", "idempotencyKey": key}, schema, body="single")
    assert said.startswith("column 'idempotencyKey' is null, empty or no value of a header")


def test_elements_without_columns_have_no_place_in_a_template() -> None:
    with pytest.raises(TypeError, match="an element of type bytes has no columns, and the templates of the options"):
        of_row(b"1", url="https://h/{id}")
    with pytest.raises(ValueError, match="there is no column 'id', and option 'url' has a place for it"):
        of_row({"a": 1}, url="https://h/{id}")


WORDS = st.sampled_from(["a", "b", "é", "x/y", "1"])
METHODS = st.sampled_from(["put", "POST", "Patch", "DELETE"])


@given(st.lists(st.tuples(WORDS, WORDS, METHODS, st.dictionaries(st.sampled_from(["X-A", "X-B"]), WORDS)), max_size=12))
def test_a_batch_has_the_targets_of_its_rows(rows: list[tuple[str, str, str, dict[str, str]]]) -> None:
    schema = schema_of(body="string", tenant="string", method="string", headers="map<string,string>")
    made = [{"body": "1", "tenant": a + b, "method": m, "headers": h} for a, b, m, h in rows]
    options: dict[str, Any] = {"url": "https://h/{tenant}", "headers": {"X-T": "{tenant}"}, "body": "single"}
    block = converter(schema, **options).apply_batch(arrow(made, schema), WriteContext())
    assert [block[index] for index in range(len(block))] == [
        converter(schema, **options).apply(row, WriteContext(sequence=number)) for number, row in enumerate(made)
    ]
    distinct, indices = block.routes() or ((), ())
    assert [distinct[index] for index in indices] == [entry.target for entry in block if isinstance(entry, Row)]
    assert len(distinct) == len(set(distinct))


def test_a_converter_with_targets_survives_pickling() -> None:
    made = pickle.loads(pickle.dumps(converter(**OPTIONS)))
    assert made.apply(ROW, WriteContext()).target == TARGET
