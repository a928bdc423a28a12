"""Payloads in Arrow columns: the bodies are those of Python's bytes, and no row becomes an object on the way."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink import ListBlock, ListRequestEntries
from asyncsink.arrow import ArrowBlock
from asyncsink.blocks import merge
from asyncsink_http import HttpOptions
from asyncsink_http.bodies.arrow_rows import PayloadOfRow
from asyncsink_http.bodies.body import Body, body_of
from asyncsink_http.entries.entry import Row, RowColumns
from asyncsink_http.entries.target import Target

HERE = Target("PUT", "http://localhost/1", (("X-A", "é"),))
THERE = Target("DELETE", "http://localhost/2")
OPTIONS: dict[str, dict[str, Any]] = {
    "json-array": {},
    "ndjson": {},
    "template": {"template_prefix": '{"rows":[', "template_separator": ",\r\n ", "template_suffix": "]}"},
    "together": {"body": "template", "template_separator": ""},
}


@cache
def made(name: str) -> Body:
    return body_of(HttpOptions.of(url="http://localhost", **{"body": name, **OPTIONS[name]}).resolved())


def column(payloads: list[bytes]) -> pa.Array:
    # A slice, as the blocks of Spark's batches may be: it begins within its buffers.
    return pa.array([b"before", *payloads, b"behind"], pa.large_binary()).slice(1, len(payloads))


def encoded(body: Body, block: Any) -> bytes:
    return body.encode(ListRequestEntries(block))


payload_lists = st.lists(st.binary(min_size=1, max_size=20).filter(lambda value: bool(value.strip())), max_size=12)
one_liners = payload_lists.map(lambda values: [value.replace(b"\n", b"-") for value in values])


@settings(max_examples=40)
@given(st.lists(one_liners.filter(bool), min_size=1, max_size=3), st.sampled_from([*OPTIONS]), st.data())
def test_bodies_of_slices_and_of_merged_blocks_are_those_of_pythons_bytes(
    lists: list[list[bytes]], name: str, data: st.DataObject
) -> None:
    body = made(name)
    parts, expected = [], []
    for payloads in lists:
        block = body.block(column(payloads), None)
        start = data.draw(st.integers(0, len(payloads) - 1))
        stop = data.draw(st.integers(start + 1, len(payloads)))
        parts.append(block.slice(start, stop))
        expected += payloads[start:stop]
    found = merge(parts)
    assert [*found] == expected
    assert encoded(body, found) == encoded(body, ListBlock(expected, [1] * len(expected)))
    assert len(encoded(body, found)) <= found.size_in_bytes(0, len(found))
    sizes = [found.size_in_bytes(row, row + 1) for row in range(len(found))]
    assert sizes == [len(payload) + body.overhead for payload in expected]


@settings(max_examples=40)
@given(one_liners.filter(bool), st.sampled_from([*OPTIONS]))
def test_entries_are_read_one_by_one_as_they_are_all_at_once(payloads: list[bytes], name: str) -> None:
    targets = ([HERE, THERE], [row % 2 for row in range(len(payloads))])
    for rows in (None, RowColumns(targets)):
        block = made(name).block(column(payloads), rows)
        assert [block[row] for row in range(len(block))] == [*block]


class NoObject(PayloadOfRow):
    """Stands for the entries of a block that nobody may ask for."""

    def __call__(self, batch: pa.RecordBatch, index: int) -> Any:
        raise AssertionError(f"row {index} became an object")

    def run(self, batch: pa.RecordBatch) -> Any:
        raise AssertionError(f"{batch.num_rows} rows became objects")


@pytest.mark.parametrize("name", [*OPTIONS])
def test_no_row_becomes_an_object_on_its_way_to_a_body(name: str) -> None:
    body = made(name)
    payloads = [b'{"id":%d}' % number for number in range(6)]
    block = body.block(column(payloads), None)
    assert isinstance(block, ArrowBlock)
    guarded: ArrowBlock[Any] = ArrowBlock(block.batch, NoObject(0), [1] * 6)
    with pytest.raises(AssertionError, match="became"):
        list(guarded)
    found = encoded(body, merge([guarded.slice(0, 2), guarded.slice(3, 6)]))
    chosen = [*payloads[:2], *payloads[3:]]
    assert found == encoded(body, ListBlock(chosen, [1] * len(chosen)))


def test_rows_of_a_target_have_a_block_of_their_own_and_keep_it() -> None:
    payloads = [b"1", b"22", b"333", b"4444"]
    block = made("json-array").block(column(payloads), RowColumns(([HERE, THERE], [1, 0, 0, 1])))
    assert isinstance(block, ArrowBlock)
    parts = block.split(0)
    assert [route for route, _, _ in parts] == [THERE, HERE]
    assert [*parts[0][1]] == [Row(b"1", THERE), Row(b"4444", THERE)]
    assert [*block.take([2, 3])] == [Row(b"333", HERE), Row(b"4444", THERE)]
    # Of two batches with other targets each, as a request that spans both has them.
    other = made("json-array").block(column([b"5"]), RowColumns(([THERE], [0])))
    joined = merge([parts[0][1], other])
    assert isinstance(joined, ArrowBlock)
    assert encoded(made("json-array"), joined) == b"[1,4444,5]"
    assert [*joined] == [Row(b"1", THERE), Row(b"4444", THERE), Row(b"5", THERE)]


def test_a_block_that_somebody_elses_converter_has_made_is_read_entry_by_entry() -> None:
    batch = pa.record_batch([pa.array([b"1", b"2"])], names=["mine"])
    assert encoded(made("json-array"), ArrowBlock.of_column(batch, 0)) == b"[1,2]"


def test_a_block_of_no_rows_is_empty() -> None:
    block = made("ndjson").block(column([]), None)
    assert (len(block), block.size_in_bytes(0, 0)) == (0, 0)


@pytest.mark.parametrize("name", ["json-array", "template"])
@pytest.mark.parametrize("payload", [b"", b" \t\r\n", b"\x0b\x0c"])
def test_a_blank_payload_is_refused_wherever_it_stands(name: str, payload: bytes) -> None:
    for payloads in ([payload], [payload, b"1"], [b"1", payload]):
        with pytest.raises(ValueError, match="the payload is empty"):
            made(name).block(column(payloads), None)
    (entry,) = made(name).block(column([b" 1 "]), None)
    assert entry == b" 1 "
