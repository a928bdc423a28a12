"""Requests as they are built: everything but credentials."""

from __future__ import annotations

import gzip
import pickle
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import ListBlock, ListRequestEntries
from asyncsink_http import HttpOptions, HttpRequest
from asyncsink_http.bodies.body import body_of
from asyncsink_http.entries.entry import HttpEntry, Row
from asyncsink_http.entries.target import Target
from asyncsink_http.requests.building import RequestBuilder

URL = "http://localhost/in?sig=s3cret"


def built(*entries: HttpEntry, attempt: int = 1, route: Target | None = None, **options: Any) -> HttpRequest:
    resolved = HttpOptions.of(url=URL, **options).resolved()
    builder = pickle.loads(pickle.dumps(RequestBuilder(resolved, body_of(resolved))))
    block = ListBlock(entries or (b"1", b"2"), [1] * (len(entries) or 2))
    request = builder.build(ListRequestEntries(block, id="q/0/0/1", attempt=attempt, route=route))
    assert isinstance(request, HttpRequest)
    return request


def test_a_request_says_what_it_is_made_of() -> None:
    request = built(attempt=3, method="PUT")
    assert (request.method, request.url, request.body) == ("PUT", URL, b"[1,2]")
    assert (request.id, request.attempt, request.rows) == ("q/0/0/1", 3, 2)


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        ({}, {b"Content-Type": b"application/json", b"User-Agent": b"asyncsink-http"}),
        ({}, {b"Accept-Encoding": b"identity", b"Idempotency-Key": b"q/0/0/1"}),
        ({"body": "ndjson"}, {b"Content-Type": b"application/x-ndjson"}),
        ({"content_type": "text/plain"}, {b"Content-Type": b"text/plain"}),
        ({"compression": "gzip"}, {b"Content-Encoding": b"gzip"}),
        ({"compression": "zstd"}, {b"Content-Encoding": b"zstd"}),
    ],
)
def test_headers_of_every_request(options: dict[str, Any], headers: dict[bytes, bytes]) -> None:
    found = dict(built(**options).headers)
    assert {name: found[name] for name in headers} == headers


def test_neither_a_key_nor_an_encoding_is_named_where_there_is_none() -> None:
    names = {name for name, _ in built(idempotency_key=False).headers}
    assert names == {b"Accept-Encoding", b"Content-Type", b"User-Agent"}


def test_a_row_with_a_key_of_its_own_gives_it_to_its_request() -> None:
    assert dict(built(Row(b"1", key="mine"), body="single").headers)[b"Idempotency-Key"] == b"mine"


def test_the_body_is_compressed() -> None:
    assert gzip.decompress(built(compression="gzip", compression_level=9).body) == b"[1,2]"
    packed = pa.py_buffer(built(compression="zstd").body)
    assert bytes(pa.CompressedInputStream(packed, "zstd").read()) == b"[1,2]"


def test_a_delete_carries_nothing_that_would_describe_a_body() -> None:
    request = built(b"1", route=Target("DELETE", "http://localhost/rows/1"), compression="gzip")
    assert (request.method, request.url, request.body) == ("DELETE", "http://localhost/rows/1", b"")
    assert {name for name, _ in request.headers} == {b"Accept-Encoding", b"Idempotency-Key", b"User-Agent"}


def test_the_route_of_rows_is_where_their_request_goes() -> None:
    request = built(b"1", route=Target("PUT", "http://localhost/1", (("user-agent", "mine"), ("X-A", "\xe9"))))
    assert (request.method, request.url, request.body) == ("PUT", "http://localhost/1", b"[1]")
    assert [value for name, value in request.headers if name.lower() == b"user-agent"] == [b"mine"]
    assert (b"X-A", b"\xe9") in request.headers


def test_a_request_is_made_without_credentials_and_shows_neither_query_nor_rows() -> None:
    request = built(b"s3cret-row", headers={"X-Api-Key": "s3cret-key"}, bearer_token="s3cret-token")
    assert b"s3cret" not in b"".join(name + value for name, value in request.headers)
    assert repr(request) == ("<HttpRequest POST http://localhost/in?***, 1 rows, 12 bytes, id='q/0/0/1', attempt=1>")


def test_more_headers_take_the_place_of_those_of_the_same_name() -> None:
    request = built().with_headers([(b"USER-AGENT", b"mine"), (b"X-A", b"1")])
    assert [value for name, value in request.headers if name.lower() == b"user-agent"] == [b"mine"]
    assert (b"X-A", b"1") in request.headers
    assert dict(request.headers)[b"Idempotency-Key"] == b"q/0/0/1"
