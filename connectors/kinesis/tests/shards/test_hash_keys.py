"""Where a record lies among the hash keys."""

from __future__ import annotations

from hashlib import md5

import pytest

from asyncsink_kinesis.shards.hash_keys import HIGHEST, explicit_hash_key, hash_key, hash_key_of


def test_a_partition_key_is_hashed_as_the_service_does_it() -> None:
    # The example of Amazon's own documentation of partition keys is an MD5 of UTF-8 read as a number of 128 bits.
    assert hash_key_of("ключ") == md5("ключ".encode()).digest()
    assert int.from_bytes(hash_key_of("a"), "big") == 0x0CC175B9C0F1B6A831C399E269772661


def test_an_explicit_hash_key_overrides_the_partition_key() -> None:
    assert hash_key("a", "256") == bytes(14) + b"\x01\x00"
    assert hash_key("a", None) == hash_key_of("a")


def test_the_highest_hash_key_fits_and_the_next_does_not() -> None:
    assert explicit_hash_key(str(HIGHEST)) == b"\xff" * 16
    with pytest.raises(ValueError, match="must be a decimal number from 0 to"):
        explicit_hash_key(str(HIGHEST + 1))


@pytest.mark.parametrize("text", ["", "-1", "1.0", "0x10", "\u0661", " 1"])
def test_what_is_no_decimal_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="explicit hash key"):
        explicit_hash_key(text)
