"""The entry of a PutRecords request: one record."""

from __future__ import annotations

from typing import NamedTuple

from asyncsink_kinesis.partition_keys import check_hash_key, check_key

MAX_RECORDS = 500
"""Records a PutRecords request may hold."""
MAX_REQUEST_BYTES = 10 * 1024 * 1024
"""Bytes of a PutRecords request, partition keys included; most streams took 5 MiB until autumn 2025.

A record may have as many, if its stream has been raised to that, and else 1 MiB.
"""


class KinesisEntry(NamedTuple):
    """One record: its payload, the key that chooses its shard, and the hash that chooses it in the key's place.

    :ivar explicit_hash_key: a decimal number from 0 to 2^128-1, or None for the MD5 of the partition key
    """

    data: bytes
    partition_key: str
    explicit_hash_key: str | None = None


def size_in_bytes(entry: KinesisEntry) -> int:
    """The bytes that the service counts: payload and partition key, before base64."""
    key = entry.partition_key
    return len(entry.data) + (len(key) if key.isascii() else len(key.encode()))


def checked(entry: KinesisEntry) -> KinesisEntry:
    """An entry that a program has made, if the service would take it; a hash key that is a number as its digits.

    :raises TypeError: a field is of another type
    :raises ValueError: the partition key or the hash key breaks its rule
    """
    if not isinstance(entry.data, bytes):
        raise TypeError(f"data of a KinesisEntry is of type {type(entry.data).__name__}; it must be bytes")
    check_key(entry.partition_key, "partition_key")
    given = entry.explicit_hash_key
    if given is None or (text := check_hash_key(given, "explicit_hash_key")) is given:
        return entry
    return entry._replace(explicit_hash_key=text)
