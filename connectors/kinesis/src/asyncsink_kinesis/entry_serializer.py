"""Entries as bytes, for a writer's state that outlives the writer."""

from __future__ import annotations

import struct

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_kinesis.entry import KinesisEntry

_LENGTHS = struct.Struct(">hh")
_NO_HASH_KEY = -1


class KinesisEntrySerializer(SimpleVersionedSerializer[KinesisEntry]):
    """The lengths of partition key and hash key (2 bytes each, big-endian; -1 for no hash key), both, the payload."""

    version = 1

    def serialize(self, value: KinesisEntry) -> bytes:
        key = value.partition_key.encode()
        if value.explicit_hash_key is None:
            return _LENGTHS.pack(len(key), _NO_HASH_KEY) + key + value.data
        hash_key = value.explicit_hash_key.encode()
        return _LENGTHS.pack(len(key), len(hash_key)) + key + hash_key + value.data

    def deserialize(self, version: int, data: bytes) -> KinesisEntry:
        self._check_version(version)
        start = _LENGTHS.size
        key_length, hash_length = _LENGTHS.unpack_from(data) if len(data) >= start else (-1, _NO_HASH_KEY)
        middle = start + key_length
        end = middle + max(hash_length, 0)
        if key_length < 0 or hash_length < _NO_HASH_KEY or end > len(data):
            raise ValueError(f"the bytes of a Kinesis entry are damaged: found {len(data)} of at least {end} bytes")
        hash_key = None if hash_length == _NO_HASH_KEY else data[middle:end].decode()
        return KinesisEntry(data[end:], data[start:middle].decode(), hash_key)
