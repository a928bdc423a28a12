from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from asyncsink.arrow import ArrowBlock
from asyncsink.blocks import ListBlock


def test_entries_are_made_only_when_they_are_read() -> None:
    made: list[int] = []
    block = ArrowBlock(pa.record_batch([pa.array([1, 2, 3])], ["n"]), lambda _, index: made.append(index), [1, 1, 1])
    block.slice(1, 3).oversized(0)
    assert made == []
    assert block.slice(1, 3)[1] is None
    assert made == [2]


def test_a_slice_shares_memory_and_its_batch_holds_its_rows_alone() -> None:
    batch = pa.record_batch([pa.array([b"a", b"bb", b"ccc"])], ["body"])
    part: ArrowBlock[bytes] = ArrowBlock.of_column(batch, "body").slice(1, 3)
    assert part.batch.column(0).to_pylist() == [b"bb", b"ccc"]
    assert part.batch.column(0).buffers()[2].address == batch.column(0).buffers()[2].address


def test_take_frees_the_rest_of_the_batch() -> None:
    batch = pa.record_batch([pa.array([b"x" * 1000, b"kept"])], ["body"])
    taken: ArrowBlock[bytes] = ArrowBlock.of_column(batch, "body").take([1])
    assert taken[0] == b"kept"
    assert taken.batch.column(0).buffers()[2].size < 1000


def test_nulls_count_no_bytes_whatever_lies_behind_them() -> None:
    offsets, data = pa.array([0, 3, 7, 8], pa.int32()).buffers()[1], pa.py_buffer(b"abcdefgh")
    column = pa.Array.from_buffers(pa.binary(), 3, [pa.py_buffer(bytes([0b101])), offsets, data])
    block: ArrowBlock[bytes | None] = ArrowBlock.of_column(pa.record_batch([column], ["body"]), "body")
    assert [block[index] for index in range(3)] == list(block) == [b"abc", None, b"h"]
    assert [block.size_in_bytes(index, index + 1) for index in range(3)] == [3, 0, 1]


def test_strings_count_and_become_utf8_bytes() -> None:
    block: ArrowBlock[bytes] = ArrowBlock.of_column(pa.record_batch([pa.array(["é", "zz"])], ["body"]), 0)
    assert (block[0], block.size_in_bytes(0, 2)) == ("é".encode(), 4)
    assert list(block) == ["é".encode(), b"zz"]


@pytest.mark.parametrize(
    "column", [pa.array([1]), pa.array(["a"], pa.string_view()), pa.array(["a"]).dictionary_encode()]
)
def test_a_column_without_byte_offsets_is_refused_by_type(column: pa.Array) -> None:
    with pytest.raises(TypeError, match=r"a column of type .* has no byte offsets"):
        ArrowBlock.of_column(pa.record_batch([column], ["body"]), "body")


def test_the_number_of_sizes_must_fit_the_batch() -> None:
    with pytest.raises(ValueError, match="2 rows was given 1 sizes"):
        ArrowBlock(pa.record_batch([pa.array([1, 2])], ["n"]), lambda batch, index: index, [1])


@pytest.mark.parametrize("index", [-1, 1])
def test_an_index_outside_a_slice_is_refused(index: int) -> None:
    block: ArrowBlock[bytes] = ArrowBlock.of_column(pa.record_batch([pa.array([b"a", b"b", b"c"])], ["body"]), "body")
    with pytest.raises(IndexError, match=f"1 entries has no index {index}"):
        block.slice(1, 2)[index]


def test_merged_blocks_with_entries_made_in_different_ways_keep_their_own() -> None:
    def named(name: str) -> ArrowBlock[Any]:
        return ArrowBlock(pa.record_batch([pa.array([7])], ["n"]), lambda batch, index: (name, index), [1])

    merged = ArrowBlock.merged([named("first"), named("second")])
    assert isinstance(merged, ListBlock)
    assert [merged[0], merged[1]] == [("first", 0), ("second", 0)]


def test_merged_blocks_of_one_column_stay_in_arrow() -> None:
    blocks: list[ArrowBlock[bytes]] = [
        ArrowBlock.of_column(pa.record_batch([pa.array([b"a", b"b"])], ["body"]), "body").slice(1, 2) for _ in range(3)
    ]
    merged = ArrowBlock.merged(blocks)
    assert isinstance(merged, ArrowBlock)
    assert merged.batch.column(0).to_pylist() == [b"b", b"b", b"b"]


@pytest.mark.parametrize(
    ("indices", "rule"),
    [
        ([0], "3 entries was given 1 routes"),
        ([0, 1, 2], "indices of its 2 distinct routes; there are int64 values from 0 to 2"),
        ([0, -1, 1], "values from -1 to 1"),
        ([0.0, 1.0, 1.0], "there are float64 values"),
    ],
)
def test_routes_that_are_not_indices_of_the_distinct_ones_are_refused(indices: list[Any], rule: str) -> None:
    batch = pa.record_batch([pa.array([b"a", b"b", b"c"])], ["body"])
    with pytest.raises(ValueError, match=rule):
        ArrowBlock.of_column(batch, "body", routes=(("left", "right"), indices))


def test_a_split_frees_the_entries_of_the_other_routes() -> None:
    batch = pa.record_batch([pa.array([b"x" * 1000, b"kept", b"y" * 1000])], ["body"])
    block: ArrowBlock[bytes] = ArrowBlock.of_column(batch, "body", routes=(("left", "right"), [0, 1, 0]))
    (_, _, _), (route, part, numbers) = block.split(5)
    assert isinstance(part, ArrowBlock)
    assert (route, list(part), list(numbers or ()), part.routes()) == ("right", [b"kept"], [6], None)
    assert part.batch.column(0).buffers()[2].size < 1000
