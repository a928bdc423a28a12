from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.blocks import EntryBlock, ListBlock, fitting, merge, sizes_of

Model = tuple[list[str], list[int]]


@st.composite
def models(draw: st.DrawFn) -> Model:
    sizes = draw(st.lists(st.integers(0, 50), max_size=12))
    return [f"e{index}" for index in range(len(sizes))], sizes


@st.composite
def parts(draw: st.DrawFn) -> tuple[ListBlock[str], Model]:
    """A slice of a block with keys and routes, and the lists that it should equal."""
    entries, sizes = draw(models())
    start = draw(st.integers(0, len(entries)))
    stop = draw(st.integers(start, len(entries)))
    return block_of(entries, sizes).slice(start, stop), (entries[start:stop], sizes[start:stop])


def block_of(entries: Sequence[str], sizes: Sequence[int]) -> ListBlock[str]:
    places = [int(entry[1:]) for entry in entries]
    return ListBlock(
        entries, sizes, [f"k{place}" for place in places], (["even", "odd"], [each % 2 for each in places])
    )


def check(block: EntryBlock[str], model: Model) -> None:
    entries, sizes = model
    assert len(block) == len(entries)
    assert [block[index] for index in range(len(block))] == entries
    assert sizes_of(block) == sizes
    assert block.size_in_bytes(0, len(block)) == sum(sizes)


def check_labels(block: EntryBlock[str], entries: Sequence[str]) -> None:
    assert [*(block.keys() or ())] == [f"k{entry[1:]}" for entry in entries]
    routes = block.routes()
    assert routes is not None
    assert [routes[0][index] for index in routes[1]] == [("even", "odd")[int(entry[1:]) % 2] for entry in entries]


@given(parts())
def test_a_slice_is_the_slice_of_entries_sizes_keys_and_routes(part: tuple[ListBlock[str], Model]) -> None:
    block, model = part
    check(block, model)
    check_labels(block, model[0])


@given(parts(), st.data())
def test_a_slice_of_a_slice_counts_from_its_own_start(part: tuple[ListBlock[str], Model], data: st.DataObject) -> None:
    block, (entries, sizes) = part
    start = data.draw(st.integers(0, len(block)))
    stop = data.draw(st.integers(start, len(block)))
    check(block.slice(start, stop), (entries[start:stop], sizes[start:stop]))
    check_labels(block.slice(start, stop), entries[start:stop])


@given(parts(), st.data())
def test_take_gives_the_entries_at_the_indices(part: tuple[ListBlock[str], Model], data: st.DataObject) -> None:
    block, (entries, sizes) = part
    indices = data.draw(st.lists(st.integers(0, len(block) - 1), unique=True)) if len(block) else []
    taken = block.take(indices)
    check(taken, ([entries[index] for index in indices], [sizes[index] for index in indices]))
    check_labels(taken, [entries[index] for index in indices])


@given(parts(), st.integers(0, 60))
def test_oversized_names_the_entries_larger_than_the_limit(part: tuple[ListBlock[str], Model], limit: int) -> None:
    block, (_, sizes) = part
    assert [*block.oversized(limit)] == [index for index, size in enumerate(sizes) if size > limit]


@given(parts(), st.data())
def test_sizes_of_ranges_add_up(part: tuple[ListBlock[str], Model], data: st.DataObject) -> None:
    block, (_, sizes) = part
    start = data.draw(st.integers(0, len(block)))
    stop = data.draw(st.integers(start, len(block)))
    assert block.size_in_bytes(start, stop) == sum(sizes[start:stop])


@given(parts())
def test_iterating_a_slice_ends_where_the_slice_does(part: tuple[ListBlock[str], Model]) -> None:
    block, (entries, _) = part
    assert [*block] == entries


@given(parts(), st.data(), st.integers(0, 200))
def test_fitting_goes_as_far_as_the_bytes_allow_and_no_further(
    part: tuple[ListBlock[str], Model], data: st.DataObject, limit: int
) -> None:
    block, (_, sizes) = part
    start = data.draw(st.integers(0, len(block)))
    stop = data.draw(st.integers(start, len(block)))
    end = fitting(block, start, stop, limit)
    assert start <= end <= stop
    assert sum(sizes[start:end]) <= limit
    assert end == stop or sum(sizes[start : end + 1]) > limit


@given(st.lists(parts(), min_size=1, max_size=4))
def test_merge_is_concatenation(several: list[tuple[ListBlock[str], Model]]) -> None:
    merged = merge([block for block, _ in several])
    entries = [entry for _, model in several for entry in model[0]]
    check(merged, (entries, [size for _, model in several for size in model[1]]))


@pytest.mark.parametrize("index", [-1, 2, 3])
def test_an_index_outside_a_slice_is_an_index_error(index: int) -> None:
    part = ListBlock(["a", "b", "c", "d"], [1] * 4).slice(1, 3)
    with pytest.raises(IndexError, match=f"a block of 2 entries has no index {index}"):
        part[index]


def test_one_block_is_merged_to_itself() -> None:
    block = ListBlock(["a"], [1])
    assert merge([block]) is block


class Squares:
    """A block of another type, which cannot be merged: entry i is i squared, of i bytes."""

    def __init__(self, start: int, stop: int) -> None:
        self._range = range(start, stop)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, index: int, /) -> int:
        return self._range[index] ** 2

    def __iter__(self) -> Iterator[int]:
        return (each**2 for each in self._range)

    def size_in_bytes(self, start: int, stop: int) -> int:
        return sum(self._range[start:stop])

    def oversized(self, limit: int) -> Sequence[int]:
        return [index for index, size in enumerate(self._range) if size > limit]

    def slice(self, start: int, stop: int) -> Squares:
        return Squares(self._range[0] + start, self._range[0] + stop)

    def take(self, indices: Sequence[int]) -> ListBlock[int]:
        return ListBlock([self[index] for index in indices], [self._range[index] for index in indices])

    def keys(self) -> None:
        return None

    def routes(self) -> None:
        return None


def test_blocks_of_different_types_are_merged_into_a_list() -> None:
    blocks: list[EntryBlock[Any]] = [Squares(2, 4), ListBlock(["x"], [7])]
    merged = merge(blocks)
    assert ([*merged], sizes_of(merged)) == ([4, 9, "x"], [2, 3, 7])


def test_any_class_with_the_methods_is_a_block() -> None:
    assert isinstance(Squares(0, 1), EntryBlock)
    assert isinstance(ListBlock([], []), EntryBlock)
    assert not isinstance([], EntryBlock)


def test_a_block_needs_a_size_for_each_entry() -> None:
    with pytest.raises(ValueError, match="a ListBlock of 2 entries was given 1 sizes; give one for each"):
        ListBlock(["a", "b"], [1])


@given(models(), st.integers(-99, 99))
def test_a_block_of_offsets_from_anywhere_is_one_of_their_sizes(model: Model, first: int) -> None:
    entries, sizes = model
    check(ListBlock.of_offsets(entries, list(accumulate(sizes, initial=first))), model)


def test_a_block_needs_an_offset_for_each_entry_and_one_more() -> None:
    with pytest.raises(ValueError, match="a ListBlock of 2 entries was given 2 offsets; give one more"):
        ListBlock.of_offsets(["a", "b"], [0, 1])


def test_a_block_without_keys_and_routes_has_none_after_slice_and_take() -> None:
    block = ListBlock(["a", "b"], [1, 1])
    for each in (block, block.slice(0, 1), block.take([1])):
        assert each.keys() is None
        assert each.routes() is None


def test_repr_shows_numbers_and_no_payload() -> None:
    assert repr(ListBlock(["secret"], [6])) == "<ListBlock of 1 entries, 6 bytes>"
