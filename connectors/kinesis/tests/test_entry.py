"""Entries: how large they are, what they may hold, and their bytes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink_kinesis import KinesisEntry, KinesisEntrySerializer, KinesisSink
from asyncsink_kinesis.entry import checked

SERIALIZER = KinesisEntrySerializer()
ENTRIES = st.builds(
    KinesisEntry,
    st.binary(max_size=300),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=256),
    st.none() | st.integers(0, 2**128 - 1).map(str),
)


def test_an_entry_is_as_large_as_payload_and_key_in_utf_8() -> None:
    sink = KinesisSink(stream_name="clicks")
    entries = [KinesisEntry(b"12345", "key"), KinesisEntry(b"", "schlüssel", "1"), KinesisEntry(b"1", "🔑")]
    assert [sink.size_in_bytes(entry) for entry in entries] == [8, 10, 5]
    assert list(sink.sizes(entries)) == [8, 10, 5]


@given(ENTRIES)
def test_bytes_bring_every_entry_back(entry: KinesisEntry) -> None:
    assert SERIALIZER.deserialize(1, SERIALIZER.serialize(entry)) == entry


def test_the_format_of_version_1_stays() -> None:
    assert SERIALIZER.serialize(KinesisEntry(b"data", "key")) == b"\x00\x03\xff\xffkeydata"
    assert SERIALIZER.serialize(KinesisEntry(b"data", "key", "12")) == b"\x00\x03\x00\x02key12data"


@pytest.mark.parametrize("damaged", [b"", b"\x00", b"\x00\x03\xff\xffke", b"\x00\x01\x00\x09key", b"\xff\xff\xff\xff"])
def test_damaged_bytes_are_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="bytes of a Kinesis entry are damaged"):
        SERIALIZER.deserialize(1, damaged)


@pytest.mark.parametrize("hash_key", ["0", "1", str(2**128 - 1), None])
def test_an_entry_that_the_service_takes_is_taken_as_it_is(hash_key: str | None) -> None:
    entry = KinesisEntry(b"", "k" * 256, hash_key)
    assert checked(entry) is entry


@pytest.mark.parametrize("hash_key", [123, Decimal(123), Decimal("1.23E+2")])
def test_a_hash_key_that_is_a_number_goes_as_its_digits(hash_key: Any) -> None:
    assert checked(KinesisEntry(b"", "key", hash_key)) == KinesisEntry(b"", "key", "123")


@pytest.mark.parametrize("hash_key", ["", "-1", "01", "1.0", "1e3", " 1", "1\n", str(2**128), "9" * 39, "1" * 40, "٣"])
def test_a_hash_key_is_a_number_of_128_bits(hash_key: str) -> None:
    with pytest.raises(ValueError, match=r"explicit_hash_key is no explicit hash key: .* from 0 to 2\^128-1"):
        checked(KinesisEntry(b"", "key", hash_key))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (KinesisEntry(b"", ""), "partition_key has 0 characters; a partition key has 1 to 256"),
        (KinesisEntry(b"", "k" * 257), "partition_key has 257 characters"),
        (KinesisEntry(b"", None), "partition_key is null"),  # type: ignore[arg-type]
        (KinesisEntry(b"", "k\ud800"), "partition_key holds half a surrogate pair, .* no UTF-8: replace it"),
        (KinesisEntry(b"", 7), "partition_key is of type int"),  # type: ignore[arg-type]
        (KinesisEntry("text", "key"), "data of a KinesisEntry is of type str; it must be bytes"),  # type: ignore[arg-type]
    ],
)
def test_an_entry_that_the_service_refuses_is_refused_first(entry: KinesisEntry, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        checked(entry)
