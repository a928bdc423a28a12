"""Frames, byte for byte."""

from __future__ import annotations

from hashlib import md5
from random import Random

import pytest
from aws_kinesis_agg.aggregator import RecordAggregator

from asyncsink_kinesis.aggregation.frame import FRAME_BYTES, MAGIC, OpenFrame, Row, varint
from asyncsink_kinesis.aggregation.sizes import row_size


def framed(*rows: Row, limit: int = 2**20) -> bytes:
    opened = OpenFrame(limit)
    assert opened.fill(rows, 0) == len(rows)
    return opened.encoded()


def amazons(*rows: Row) -> bytes:
    """The frame that Amazon's library for Python makes of the same rows."""
    aggregator = RecordAggregator()
    for data, key, explicit in rows:
        assert aggregator.add_user_record(key, data, explicit) is None
    _, _, data = aggregator.clear_and_get().get_contents()
    assert isinstance(data, bytes)
    return data


def test_a_frame_is_made_as_amazon_describes_it() -> None:
    message = (
        b"\x0a\x01a\x0a\x02bc"  # partition_key_table: "a", "bc"
        b"\x1a\x07\x08\x00\x1a\x03one"  # records: key 0, "one"
        b"\x1a\x07\x08\x01\x1a\x03two"  # key 1, "two"
        b"\x1a\x04\x08\x00\x1a\x00"  # key 0, no bytes
    )
    rows: list[Row] = [(b"one", "a", None), (b"two", "bc", None), (b"", "a", None)]
    assert framed(*rows) == b"\xf3\x89\x9a\xc2" + message + md5(message).digest()


def test_explicit_hash_keys_have_a_table_of_their_own() -> None:
    message = b"\x0a\x01a\x12\x0212\x12\x0213\x1a\x07\x08\x00\x10\x00\x1a\x01x\x1a\x07\x08\x00\x10\x01\x1a\x01y"
    rows: list[Row] = [(b"x", "a", "12"), (b"y", "a", "13")]
    assert framed(*rows) == MAGIC + message + md5(message).digest()


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_frame_is_that_of_amazons_own_library(seed: int, explicit: bool) -> None:
    random = Random(seed)
    rows: list[Row] = [
        (
            random.randbytes(random.choice([0, 1, 100, 127, 128, 300, 16_384])),
            random.choice("aäключ") * random.randrange(1, 257) if seed else f"key-{random.randrange(300)}",
            str(random.randrange(2**128)) if explicit else None,
        )
        for _ in range(30 if seed else 400)
    ]
    assert framed(*rows) == amazons(*rows)


@pytest.mark.parametrize(("number", "expected"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_varints_are_protobufs(number: int, expected: str) -> None:
    assert varint(number).hex() == expected


def test_a_frame_knows_its_size() -> None:
    opened = OpenFrame(2**20)
    opened.fill([(b"x" * 200, f"key-{index}", None) for index in range(500)], 0)
    assert opened.size == len(opened.encoded())


def test_a_frame_takes_what_fits_and_not_a_byte_more() -> None:
    rows: list[Row] = [(b"x" * 50, "key", None)] * 3
    exact = len(framed(*rows))
    assert OpenFrame(exact).fill(rows, 0) == 3
    assert OpenFrame(exact - 1).fill(rows, 0) == 2


def test_a_row_that_is_too_large_for_any_frame_is_taken_alone() -> None:
    rows: list[Row] = [(b"x", "a", None), (b"x" * 1000, "a", None), (b"x", "a", None)]
    opened = OpenFrame(100)
    assert opened.fill(rows, 1) == 2


@pytest.mark.parametrize("explicit", [None, "9" * 38])
@pytest.mark.parametrize("size", [0, 1, 127, 128, 15_999, 16_000, 16_400, 2_097_152])
def test_no_row_adds_more_than_it_is_counted_for(size: int, explicit: str | None) -> None:
    for key in ("a", "a" * 128, "ж" * 256):
        rows: list[Row] = [(b"x" * size, f"{index}{key}"[:256], explicit) for index in range(3)]
        counted = [row_size(size, len(each[1].encode()), len(explicit or "")) for each in rows]
        assert len(framed(*rows, limit=10**9)) <= sum(counted) + FRAME_BYTES


def test_indices_of_two_bytes_are_counted_for() -> None:
    rows: list[Row] = [(b"", f"{index}", None) for index in range(17_000)]
    assert len(framed(*rows)) <= sum(row_size(0, len(each[1])) for each in rows) + FRAME_BYTES
