"""The laws of EntryBlock, held by every block type in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.arrow import ArrowBlock
from asyncsink.blocks import EntryBlock, ListBlock, RoutePart, merge, split

Rows = list[tuple[bytes, str, int]]
ROUTES = ("left", "right", None)
rows = st.lists(st.tuples(st.binary(max_size=12), st.text(max_size=2), st.integers(0, 2)), max_size=30)


def list_block(data: Rows) -> EntryBlock[bytes]:
    values, keys, routes = [list(column) for column in zip(*data, strict=True)] if data else ([], [], [])
    return ListBlock(values, [*map(len, values)], keys, (ROUTES, routes))


def arrow_block(data: Rows) -> EntryBlock[bytes]:
    values, keys, routes = [list(column) for column in zip(*data, strict=True)] if data else ([], [], [])
    batch = pa.record_batch([pa.array(values, pa.binary())], ["body"])
    return ArrowBlock(
        batch, value_of, np.array([*map(len, values)], np.int64), keys, (ROUTES, np.array(routes, int).tolist())
    )


def column_block(data: Rows) -> EntryBlock[bytes]:
    return sliced_column_block(data, pa.binary())


def large_column_block(data: Rows) -> EntryBlock[bytes]:
    return sliced_column_block(data, pa.large_binary())


def sliced_column_block(data: Rows, kind: pa.DataType) -> EntryBlock[bytes]:
    values, keys, routes = [list(column) for column in zip(*data, strict=True)] if data else ([], [], [])
    column = pa.array([b"before", b"", *values, b"after"], kind)
    batch = pa.record_batch([column], ["body"]).slice(2, len(values))
    return ArrowBlock.of_column(batch, "body", keys=keys, routes=(ROUTES, routes))


def value_of(batch: pa.RecordBatch, index: int) -> bytes:
    value: bytes = batch.column(0)[index].as_py()
    return value


# One for each module: hypothesis runs many examples with the same fixture.
@pytest.fixture(
    scope="module", params=[list_block, arrow_block, column_block, large_column_block], ids=lambda made: made.__name__
)
def make(request: pytest.FixtureRequest) -> Callable[[Rows], EntryBlock[bytes]]:
    made: Callable[[Rows], EntryBlock[bytes]] = request.param
    return made


def route_names(block: EntryBlock[Any]) -> list[Any]:
    routes = block.routes()
    assert routes is not None
    return [routes[0][code] for code in routes[1]]


def check(block: EntryBlock[bytes], expected: Sequence[tuple[bytes, str, int]]) -> None:
    assert isinstance(block, EntryBlock)
    assert [block[index] for index in range(len(block))] == [value for value, _, _ in expected]
    assert list(block) == [value for value, _, _ in expected]
    for outside in (-1, len(block)):
        with pytest.raises(IndexError, match=f"has no index {outside}"):
            block[outside]
    assert list(block.keys() or ()) == [key for _, key, _ in expected]
    assert route_names(block) == [ROUTES[route] for _, _, route in expected]
    for start in range(len(block) + 1):
        size = block.size_in_bytes(start, len(block))
        assert type(size) is int
        assert size == sum(len(value) for value, _, _ in expected[start:])


@given(data=rows)
def test_a_block_holds_entries_sizes_keys_and_routes_in_order(
    make: Callable[[Rows], EntryBlock[bytes]], data: Rows
) -> None:
    check(make(data), data)


@given(data=rows, cut=st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)))
def test_a_slice_of_a_slice_is_the_run_it_names(
    make: Callable[[Rows], EntryBlock[bytes]], data: Rows, cut: tuple[int, int, int]
) -> None:
    start, middle, stop = sorted(min(each, len(data)) for each in cut)
    outer = make(data).slice(start, len(data))
    check(outer.slice(middle - start, stop - start), data[middle:stop])


@given(data=rows, seed=st.randoms(use_true_random=False), start=st.integers(0, 30))
def test_take_keeps_what_belongs_to_each_entry(
    make: Callable[[Rows], EntryBlock[bytes]], data: Rows, seed: Any, start: int
) -> None:
    rest = data[min(start, len(data)) :]
    block = make(data).slice(len(data) - len(rest), len(data))
    indices = [index for index in range(len(rest)) if seed.random() < 0.5]
    check(block.take(indices), [rest[index] for index in indices])


@given(data=rows, limit=st.integers(0, 80), start=st.integers(0, 30))
def test_oversized_names_exactly_the_entries_above_the_limit(
    make: Callable[[Rows], EntryBlock[bytes]], data: Rows, limit: int, start: int
) -> None:
    rest = data[min(start, len(data)) :]
    block = make(data).slice(len(data) - len(rest), len(data))
    assert list(block.oversized(limit)) == [index for index, row in enumerate(rest) if len(row[0]) > limit]


@given(parts=st.lists(rows, min_size=1, max_size=4))
def test_merged_blocks_hold_all_entries_in_order(make: Callable[[Rows], EntryBlock[bytes]], parts: list[Rows]) -> None:
    merged = merge([make(part).slice(len(part) // 3, len(part)) for part in parts])
    expected = [row[0] for part in parts for row in part[len(part) // 3 :]]
    assert [merged[index] for index in range(len(merged))] == expected
    assert merged.size_in_bytes(0, len(merged)) == sum(map(len, expected))


def split_of(block: EntryBlock[Any], first: int) -> list[RoutePart]:
    routes = block.routes()
    assert routes is not None
    return block.split(first) if hasattr(block, "split") else split(block, first, routes)


@given(data=rows, start=st.integers(0, 30), first=st.integers(0, 2**40))
def test_a_split_gives_each_route_its_entries_with_their_sizes_keys_and_numbers_in_order(
    make: Callable[[Rows], EntryBlock[bytes]], data: Rows, start: int, first: int
) -> None:
    rest = list(enumerate(data[min(start, len(data)) :], first))
    block = make(data).slice(len(data) - len(rest), len(data))
    parts = split_of(block, first)
    assert [route for route, _, _ in parts] == list(dict.fromkeys(ROUTES[row[2]] for _, row in rest))
    for route, part, numbers in parts:
        expected = [(number, row) for number, row in rest if ROUTES[row[2]] == route]
        assert list(part) == [value for _, (value, _, _) in expected]
        assert [part.size_in_bytes(at, at + 1) for at in range(len(part))] == [len(row[0]) for _, row in expected]
        assert list(part.keys() or ()) == [row[1] for _, row in expected]
        assert (numbers is None) == (part is block) == (len(parts) == 1)
        assert list(numbers or range(first, first + len(block))) == [number for number, _ in expected]
        assert all(type(number) is int for number in numbers or ())
