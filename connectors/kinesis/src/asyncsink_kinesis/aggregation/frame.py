"""The frame of the Kinesis Producer Library, byte for byte.

``F3 89 9A C2``, a protocol buffer, and the MD5 of the protocol buffer::

    message AggregatedRecord {
        repeated string partition_key_table = 1;
        repeated string explicit_hash_key_table = 2;
        repeated Record records = 3;
    }
    message Record {
        required uint64 partition_key_index = 1;
        optional uint64 explicit_hash_key_index = 2;
        required bytes data = 3;
    }

https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import md5

MAGIC = b"\xf3\x89\x9a\xc2"
FRAME_BYTES = len(MAGIC) + 16
"""What a frame is larger than its protocol buffer."""

Row = tuple[bytes, str, str | None]
"""Data, partition key and explicit hash key: a :class:`~asyncsink_kinesis.KinesisEntry`."""


class OpenFrame:
    """A frame that takes rows until it is full.

    :param limit: bytes that it may have; a single row goes in whatever its size
    """

    __slots__ = ("_hash_table", "_hashes", "_key_table", "_keys", "_limit", "_records", "size")

    def __init__(self, limit: int) -> None:
        self._limit, self.size = limit, FRAME_BYTES
        self._keys: dict[str, int] = {}
        self._hashes: dict[str, int] = {}
        self._key_table: list[bytes] = []
        self._hash_table: list[bytes] = []
        self._records: list[bytes] = []

    def fill(self, rows: Sequence[Row], start: int) -> int:
        """Take rows from `start` on until one would make the frame too large; the index of the first not taken.

        The rows have explicit hash keys, all of them or none. A frame is filled once.
        """
        limit, size, keys, hashes = self._limit, self.size, self._keys, self._hashes
        add, place_of = self._records.append, keys.get
        for at in range(start, len(rows)):
            data, key, explicit = rows[at]
            length, new_key, new_hash = len(data), b"", b""
            if (place := place_of(key)) is None:
                place, new_key = len(keys), _text(_KEY_TAGS, key)
            hash_place = None
            if explicit is not None and (hash_place := hashes.get(explicit)) is None:
                hash_place, new_hash = len(hashes), _text(_HASH_TAGS, explicit)
            prefix = record_prefix(place, hash_place, length)
            grown = size + len(prefix) + length + len(new_key) + len(new_hash)
            if grown > limit and at > start:
                break
            size = grown
            add(prefix)
            add(data)
            if new_key:
                keys[key] = place
                self._key_table.append(new_key)
            if new_hash and explicit is not None and hash_place is not None:
                hashes[explicit] = hash_place
                self._hash_table.append(new_hash)
        else:
            at = len(rows)
        self.size = size
        return at

    def encoded(self) -> bytes:
        message = b"".join([*self._key_table, *self._hash_table, *self._records])
        return b"".join((MAGIC, message, md5(message, usedforsecurity=False).digest()))


# The same few lengths and places come in every frame: with them ready a record costs a look-up and no arithmetic.
@lru_cache(maxsize=65_536)
def record_prefix(key_index: int, hash_index: int | None, size: int) -> bytes:
    """All of a record's field but its data, which ends it."""
    inner = b"\x08" + varint(key_index)
    if hash_index is not None:
        inner += b"\x10" + varint(hash_index)
    inner += b"\x1a" + varint(size)
    return b"\x1a" + varint(len(inner) + size) + inner


def varint(number: int) -> bytes:
    """A whole number of at least 0 in groups of seven bits, lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _text(tags: list[bytes], text: str) -> bytes:
    encoded = text.encode()
    return tags[len(encoded)] + encoded


# Partition keys have at most 256 characters, of at most 4 bytes.
_KEY_TAGS = [b"\x0a" + varint(length) for length in range(1025)]
_HASH_TAGS = [b"\x12" + varint(length) for length in range(40)]
