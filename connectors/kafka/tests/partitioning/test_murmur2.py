"""The hash of keys, by what Java's own class gives: ``MurmurGolden.java`` says how ``murmur2.txt`` was made."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_kafka.partitioning.murmur2 import murmur2_many

LINES = [line.split() for line in Path(__file__).with_name("murmur2.txt").read_text().splitlines()]


def key_of(text: str) -> bytes:
    part, _, times = text.partition("*")
    return bytes.fromhex(part) * int(times or 1)


GOLDEN = [(key_of(line[0]), int(line[1])) for line in LINES]
KINDS = [pa.binary(), pa.large_binary()]


def hashed(keys: list[bytes | None], kind: Any = None) -> list[int]:
    found: list[int] = murmur2_many(pa.array(keys, kind or pa.binary())).tolist()
    return found


def by_words(key: bytes) -> int:
    """Java's code, word by word."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    for start in range(0, len(key) & ~3, 4):
        k = int.from_bytes(key[start : start + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if rest := key[len(key) & ~3 :]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def test_the_golden_file_holds_every_kind_of_key() -> None:
    lengths = {len(key) for key, _ in GOLDEN}
    assert lengths >= {*range(70), 255, 256, 10_001, 10_010, 10_023, 10_040}
    assert {bytes([value]) for value in range(256)} <= {key for key, _ in GOLDEN}
    assert "Zürich".encode() in {key for key, _ in GOLDEN}


@pytest.mark.parametrize("kind", KINDS)
def test_all_keys_at_once_have_javas_hashes(kind: Any) -> None:
    assert hashed([key for key, _ in GOLDEN], kind) == [expected for _, expected in GOLDEN]


def test_each_key_alone_has_javas_hash() -> None:
    for key, expected in GOLDEN:
        assert hashed([key]) == [expected], key.hex()


def test_many_keys_of_each_length_have_javas_hashes() -> None:
    for key, expected in GOLDEN:
        assert hashed([key] * 150) == [expected] * 150, key.hex()


def test_partitions_are_javas() -> None:
    positive = murmur2_many(pa.array([key for key, _ in GOLDEN], pa.binary())) & np.uint32(0x7FFFFFFF)
    for index, partitions in enumerate((1, 12, 1000)):
        assert (positive % partitions).tolist() == [int(line[2 + index]) for line in LINES]


@given(st.lists(st.none() | st.binary(max_size=40), max_size=40), st.integers(0, 5), st.sampled_from(KINDS))
def test_a_slice_with_nulls_has_the_hashes_of_its_own_values(keys: list[bytes | None], skip: int, kind: Any) -> None:
    found = murmur2_many(pa.array(keys, kind).slice(skip))
    assert found.tolist() == [0 if key is None else by_words(key) for key in keys[skip:]]


def test_strings_are_hashed_in_utf_8() -> None:
    column = pa.array(["Zürich", None, ""])
    assert murmur2_many(column).tolist() == hashed(["Zürich".encode(), None, b""])
    assert murmur2_many(column.cast(pa.large_string())).tolist() == murmur2_many(column).tolist()


def test_bytes_behind_a_null_change_nothing() -> None:
    offsets, values = pa.py_buffer(np.array([0, 3, 9, 10], np.int32)), pa.py_buffer(b"abcXXXXXXd")
    column = pa.Array.from_buffers(pa.binary(), 3, [pa.py_buffer(bytes([0b101])), offsets, values])
    assert murmur2_many(column).tolist() == [by_words(b"abc"), 0, by_words(b"d")]


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 16_384, 16_385, 40_000])
def test_chunks_do_not_show(rows: int) -> None:
    random = Random(rows)
    keys = [random.randbytes(random.choice((0, 3, 8, 11, 300))) for _ in range(rows)]
    found = hashed([*keys])
    for index in {0, rows - 1, rows // 2, *range(max(0, rows - 3), rows), *range(min(rows, 50))}:
        assert found[index] == by_words(keys[index])


def test_a_key_much_longer_than_the_others_is_hashed_by_itself() -> None:
    keys = [Random(1).randbytes(700_001), b"short", Random(2).randbytes(5_002)]
    assert hashed([*keys] * 3) == [by_words(key) for key in keys] * 3


def test_memory_is_bounded_whatever_the_lengths() -> None:
    column = pa.array([bytes(20_000)] * 2_000 + [b"a" * length for length in range(2_000)], pa.binary())
    tracemalloc.start()
    try:
        murmur2_many(column)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_column_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="int64 has no bytes to hash; cast it to binary"):
        murmur2_many(pa.array([1]))
