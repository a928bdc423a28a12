from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import ListBlock, ListRequestEntries
from asyncsink_http import HttpOptions, HttpSink
from asyncsink_http.bodies.body import Body, body_of
from asyncsink_http.entries.entry import HttpEntry, Row, RowColumns
from asyncsink_http.entries.target import Target


def made(name: str | None) -> Body:
    return body_of(HttpOptions.of(url="http://localhost", body=name).resolved())


def encoded(body: Body, entries: list[HttpEntry]) -> bytes:
    return body.encode(ListRequestEntries(ListBlock(entries, [1] * len(entries))))


@pytest.mark.parametrize(
    ("name", "entries", "expected"),
    [
        ("json-array", [b'{"a":1}', b'{"a":2}'], b'[{"a":1},{"a":2}]'),
        ("json-array", [b"1"], b"[1]"),
        ("json-array", [b"1", Row(b"2")], b"[1,2]"),
        (None, [b"1", b"2"], b"[1,2]"),
        ("ndjson", [b'{"a":1}', b'{"a":2}'], b'{"a":1}\n{"a":2}\n'),
        ("single", [Row(b'{"a":1}', key="q/0/0/7")], b'{"a":1}'),
    ],
)
def test_bodies(name: str | None, entries: list[HttpEntry], expected: bytes) -> None:
    assert encoded(made(name), entries) == expected


@pytest.mark.parametrize(
    ("name", "content_type", "one_row"),
    [
        ("json-array", "application/json", False),
        ("ndjson", "application/x-ndjson", False),
        ("single", "application/json", True),
    ],
)
def test_what_a_body_says_of_itself_survives_pickling(name: str, content_type: str, one_row: bool) -> None:
    twin = pickle.loads(pickle.dumps(made(name)))
    assert twin == made(name)
    assert (twin.content_type, twin.one_row) == (content_type, one_row)


def test_entries_of_a_slice_are_encoded_alone() -> None:
    block = ListBlock([b"1", b"2", b"3", b"4"], [1] * 4).slice(1, 3)
    assert made("json-array").encode(ListRequestEntries(block)) == b"[2,3]"


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=50), st.sampled_from(["json-array", "ndjson"]))
def test_no_body_is_larger_than_what_its_entries_count(payloads: list[bytes], name: str) -> None:
    sink = HttpSink(url="http://localhost", body=name)
    counted = sum(sink.sizes(payloads))
    size = len(encoded(made(name), [*payloads]))
    assert size <= counted
    assert counted - size <= len(payloads)
    assert sink.size_in_bytes(payloads[0]) == len(payloads[0]) + made(name).overhead


def test_a_single_row_counts_its_payload() -> None:
    assert HttpSink(url="http://localhost", body="single").size_in_bytes(Row(b"12345", key="some/key")) == 5


@pytest.mark.parametrize("name", ["json-array", "ndjson", "single"])
def test_a_block_has_the_entries_sizes_and_targets_of_its_rows(name: str) -> None:
    here, there = Target("PUT", "http://localhost/1"), Target("PUT", "http://localhost/2")
    payloads = pa.array([b"1", b"22", b"333"], pa.large_binary())
    body = made(name)
    plain = body.block(payloads, None)
    assert [*plain] == [b"1", b"22", b"333"]
    assert [plain.size_in_bytes(row, row + 1) for row in range(3)] == [size + body.overhead for size in (1, 2, 3)]
    routed = body.block(payloads, RowColumns(([here, there], [1, 0, 1]), ["a", "b", "c"]))
    assert [*routed] == [Row(b"1", there, "a"), Row(b"22", here, "b"), Row(b"333", there, "c")]
    assert routed.routes() == ([here, there], [1, 0, 1])


@pytest.mark.parametrize(("name", "payload"), [("json-array", b" "), ("ndjson", b""), ("ndjson", b"1\n2")])
def test_a_block_refuses_what_its_body_cannot_carry(name: str, payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"the payload (is empty|holds a line break)"):
        made(name).block(pa.array([b"1", payload], pa.large_binary()), None)
