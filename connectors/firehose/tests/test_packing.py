"""Which rows share a record: property tests against the service's limits."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink import ListBlock
from asyncsink.blocks import EntryBlock
from asyncsink_firehose.columns import rows_of_column
from asyncsink_firehose.limits import MAX_RECORD_BYTES, MAX_RECORDS, MAX_REQUEST_BYTES
from asyncsink_firehose.packing import Packing, records_of

from .billing import billed_bytes

ROWS = st.lists(st.binary(min_size=1, max_size=40).filter(lambda row: b"\n" not in row), min_size=1, max_size=80)
PACKINGS = st.builds(Packing, st.integers(1, 120), st.integers(1, 12))


def block_of(rows: list[bytes]) -> ListBlock[bytes]:
    return ListBlock(rows, [*map(len, rows)])


def arrow_block_of(rows: list[bytes]) -> EntryBlock[bytes]:
    return rows_of_column(pa.record_batch({"data": pa.array(rows, pa.binary())}), "data", b"\n")


@settings(deadline=None)
@given(rows=ROWS, packing=PACKINGS)
def test_every_row_goes_once_in_order_in_records_within_their_limits(rows: list[bytes], packing: Packing) -> None:
    block = block_of(rows)
    cuts = packing.cuts(block)
    assert b"".join(records_of(block, cuts)) == b"".join(rows)
    assert (cuts[0], cuts[-1], cuts) == (0, len(rows), sorted(set(cuts)))
    for start, stop in pairwise(cuts):
        assert stop - start <= packing.max_rows
        assert stop - start == 1 or block.size_in_bytes(start, stop) <= packing.max_bytes


@settings(deadline=None)
@given(rows=ROWS, packing=PACKINGS)
def test_a_record_takes_as_many_rows_as_fit(rows: list[bytes], packing: Packing) -> None:
    block = block_of(rows)
    for start, stop in pairwise(packing.cuts(block)[:-1]):
        assert stop - start == packing.max_rows or block.size_in_bytes(start, stop + 1) > packing.max_bytes


@settings(deadline=None)
@given(rows=ROWS, packing=PACKINGS)
def test_there_are_never_more_records_than_the_configuration_was_checked_for(
    rows: list[bytes], packing: Packing
) -> None:
    block = block_of(rows)
    bound = packing.most_records(len(rows), block.size_in_bytes(0, len(rows)))
    assert len(packing.cuts(block)) - 1 <= bound


@settings(deadline=None)
@given(size=st.integers(1, MAX_RECORD_BYTES), rows=st.integers(1, 500), batch=st.integers(1, 40_000))
def test_the_remedy_for_too_many_records_is_one(size: int, rows: int, batch: int) -> None:
    packing = Packing(size, rows)
    largest = packing.largest_request(batch)
    if largest:
        assert packing.most_records(batch, largest) <= MAX_RECORDS


@settings(deadline=None)
@given(rows=ROWS, packing=PACKINGS, data=st.data())
def test_rows_of_a_column_are_packed_as_rows_of_a_list(
    rows: list[bytes], packing: Packing, data: st.DataObject
) -> None:
    block = arrow_block_of(rows)
    start = data.draw(st.integers(0, len(rows) - 1))
    part, listed = block.slice(start, len(rows)), block_of([row + b"\n" for row in rows[start:]])
    assert [*map(bytes, records_of(part, packing.cuts(part)))] == records_of(listed, packing.cuts(listed))
    chosen = data.draw(st.lists(st.integers(0, len(part) - 1), min_size=1, unique=True))
    taken, listed = part.take(chosen), listed.take(chosen)
    assert [*map(bytes, records_of(taken, packing.cuts(taken)))] == records_of(listed, packing.cuts(listed))


def test_a_row_larger_than_a_record_should_become_goes_alone() -> None:
    assert Packing(10, 500).cuts(block_of([b"aaaa", b"bbbb", b"c" * 11, b"dddd"])) == [0, 2, 3, 4]


def test_the_default_packing_fills_a_request_of_the_largest_size() -> None:
    rows = [b"x" * 261 + b"\n"] * 16_000
    cuts = Packing(MAX_RECORD_BYTES, 500).cuts(block_of(rows))
    assert sum(map(len, rows)) <= MAX_REQUEST_BYTES
    assert len(cuts) - 1 == 32


@pytest.mark.parametrize(("size", "billed"), [(1, 5120), (5120, 5120), (5121, 10_240), (1_024_000, 1_024_000)])
def test_what_a_record_is_billed_as(size: int, billed: int) -> None:
    assert billed_bytes(size) == billed


def test_packed_rows_are_billed_as_what_they_hold_and_single_ones_fifty_times_that() -> None:
    rows = [b"x" * 100 + b"\n"] * 16_000
    block, held = block_of(rows), 16_000 * 101
    packed = records_of(block, Packing(MAX_RECORD_BYTES, 500).cuts(block))
    assert sum(billed_bytes(len(row)) for row in rows) > 50 * held
    assert sum(billed_bytes(len(record)) for record in packed) < 1.02 * held
