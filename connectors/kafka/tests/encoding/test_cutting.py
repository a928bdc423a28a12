"""Where batches end, and that a slot keeps its order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_kafka.encoding import sizes_of
from asyncsink_kafka.encoding.encoder import encode
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

from .reference import aiokafka_batches, drawn, encoded, sealed


def rows_of(*lengths: int) -> Records:
    return Records.of([KafkaRecord(value=b"x" * length) for length in lengths])


def counts(rows: Records, max_bytes: int, max_count: int = 1 << 30) -> list[int]:
    return [batch.count for batch in encoded(rows, max_bytes=max_bytes, max_count=max_count)]


def test_a_batch_may_be_as_large_as_the_limit_and_no_larger() -> None:
    rows = rows_of(100, 100, 100)
    whole = len(aiokafka_batches([KafkaRecord(value=b"x" * 100)] * 3)[0])
    assert counts(rows, whole) == [3]
    assert counts(rows, whole - 1) == [2, 1]


def test_a_record_larger_than_the_limit_goes_alone() -> None:
    assert counts(rows_of(10, 500, 10, 10, 500, 500), 200) == [1, 1, 2, 1, 1]
    assert int(sizes_of(rows_of(500))[0]) > 200


@pytest.mark.parametrize(("max_count", "expected"), [(1, [1] * 7), (3, [3, 3, 1]), (6, [6, 1]), (7, [7]), (8, [7])])
def test_a_batch_has_no_more_records_than_are_allowed(max_count: int, expected: list[int]) -> None:
    assert counts(rows_of(*[5] * 7), 1 << 20, max_count) == expected


def test_a_batch_is_as_full_as_the_width_of_its_own_offsets_lets_it_be() -> None:
    # Past row 8 192 of the slot an offset from the slot's first record would take a byte more.
    rows = [KafkaRecord(value=b"x" * 20)] * 20_000
    assert counts(Records.of(rows), 3000) == [
        int.from_bytes(batch[57:61]) for batch in aiokafka_batches(rows, max_bytes=3000)
    ]


def test_only_the_slots_that_are_too_large_are_cut() -> None:
    found = encoded(rows_of(*[50] * 9), [0, 1, 1, 1, 1, 2, 2, 4, 1], 6, max_bytes=232)
    assert [(batch.slot, batch.sequence.tolist()) for batch in found] == [
        (0, [0]), (1, [1, 2, 3]), (1, [4, 8]), (2, [5, 6]), (4, [7])
    ]  # fmt: skip


@pytest.mark.parametrize("slot_count", [1, 2, 255, 256, 257, 5_000, 65_536, 65_537])
def test_every_row_is_in_a_batch_of_its_slot_in_its_order(slot_count: int) -> None:
    random = np.random.default_rng(slot_count)
    slots = random.integers(-1, slot_count, 20_000).astype(np.int32)
    slots[:2] = (slot_count - 1, 0)
    rows = Records(value=pa.array([b"%d" % row for row in range(20_000)]), sequence=np.arange(20_000) + 7)
    found = encoded(rows, slots, slot_count, max_bytes=4_000)
    ordered = np.argsort(slots, kind="stable")
    assert np.concatenate([batch.sequence for batch in found]).tolist() == (ordered[slots[ordered] >= 0] + 7).tolist()
    assert all((slots[batch.sequence - 7] == batch.slot).all() for batch in found)
    for batch in found[:: max(1, len(found) // 50)]:
        assert batch.records().value.to_pylist() == [b"%d" % row for row in batch.sequence - 7]


@drawn
@given(st.lists(st.integers(0, 2), max_size=30), st.booleans())
def test_rows_that_stand_in_the_order_of_their_slots_are_the_same_batches(slots: list[int], keyed: bool) -> None:
    key = b"key" if keyed else None
    rows = [KafkaRecord(value=b"%d" % row, key=key) for row in range(len(slots))]
    ordered = sorted(range(len(slots)), key=lambda row: slots[row])
    given_order = encoded(Records.of(rows), slots, 3)
    slot_order = encoded(Records.of([rows[row] for row in ordered]), sorted(slots), 3)
    assert sealed(given_order) == sealed(slot_order)


def test_what_is_written_piece_by_piece_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    rows = Records.of([
        KafkaRecord(value=random.bytes(int(size)), key=b"k", headers=(("h", b"%d" % size),), timestamp=int(size))
        for size in random.integers(0, 300, 2_000)
    ])  # fmt: skip
    slots = random.integers(0, 5, 2_000, np.int32)
    whole = sealed(encoded(rows, slots, 5, max_bytes=3_000))
    monkeypatch.setitem(encode.__globals__, "_PIECE_BYTES", 7_000)
    assert sealed(encoded(rows, slots, 5, max_bytes=3_000)) == whole
