from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import ListBlock, ListRequestEntries
from asyncsink_http import HttpSink
from asyncsink_http.bodies.framing import compress, encode_body, overhead_in_bytes
from asyncsink_http.entries.converter import HttpEntry, KeyedEntry
from asyncsink_http.options.http_options import Body


@pytest.mark.parametrize(
    ("body", "entries", "expected"),
    [
        ("json-array", [b'{"a":1}', b'{"a":2}'], b'[{"a":1},{"a":2}]'),
        ("json-array", [b"1"], b"[1]"),
        ("ndjson", [b'{"a":1}', b'{"a":2}'], b'{"a":1}\n{"a":2}\n'),
        ("single", [KeyedEntry(b'{"a":1}', "q/0/0/7")], b'{"a":1}'),
    ],
)
def test_bodies(body: Body, entries: list[HttpEntry], expected: bytes) -> None:
    request = ListRequestEntries(ListBlock(entries, [1] * len(entries)))
    assert encode_body(request, body) == expected


def test_entries_of_a_slice_are_encoded_alone() -> None:
    block = ListBlock([b"1", b"2", b"3", b"4"], [1] * 4).slice(1, 3)
    assert encode_body(ListRequestEntries(block), "json-array") == b"[2,3]"


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=50), st.sampled_from(["json-array", "ndjson"]))
def test_no_body_is_larger_than_what_its_entries_count(payloads: list[bytes], body: Body) -> None:
    sink = HttpSink(url="http://localhost", body=body)
    counted = sum(sink.sizes(payloads))
    size = len(encode_body(payloads, body))
    assert size <= counted
    assert counted - size <= len(payloads)
    assert sink.size_in_bytes(payloads[0]) == len(payloads[0]) + overhead_in_bytes(body)


def test_a_single_row_counts_its_payload() -> None:
    assert HttpSink(url="http://localhost", body="single").size_in_bytes(KeyedEntry(b"12345", "some/key")) == 5


def test_the_same_body_compresses_to_the_same_bytes() -> None:
    body = b'[{"a":1}]' * 100
    assert gzip.decompress(compress(body)) == body
    assert compress(body) == compress(body)
    assert compress(body)[4:8] == bytes(4), "the time of a gzip header must be 0"
