"""Hash keys: where a record lies in the 128 bits that the shards of a stream divide among themselves.

A hash key is kept as 16 bytes, highest first, so that bytes compare as the numbers do.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import md5

HIGHEST = 2**128 - 1


@lru_cache(maxsize=16_384)
def hash_key_of(partition_key: str) -> bytes:
    """The hash key that the service makes of a partition key: the MD5 of its UTF-8.

    The last 16 384 keys are remembered, in about 3 MiB: keys mostly come again, and a look-up is a sixth of the MD5.
    """
    return md5(partition_key.encode(), usedforsecurity=False).digest()


def explicit_hash_key(text: str) -> bytes:
    """The hash key that a record brings as a decimal number.

    :raises ValueError: it is no number from 0 to 2**128 - 1
    """
    if not (text.isascii() and text.isdigit() and int(text) <= HIGHEST):
        raise ValueError(f"explicit hash key {text!r} must be a decimal number from 0 to {HIGHEST}")
    return int(text).to_bytes(16, "big")


def hash_key(partition_key: str, explicit: str | None) -> bytes:
    """Where a record goes: its explicit hash key, else the hash of its partition key."""
    return hash_key_of(partition_key) if explicit is None else explicit_hash_key(explicit)
