"""Entries as bytes, for a writer's state that outlives the writer."""

from __future__ import annotations

import struct

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_http.entries.entry import HttpEntry, Row, payload_of

_KEY_LENGTH = struct.Struct(">i")
_NO_KEY = -1


class HttpEntrySerializer(SimpleVersionedSerializer[HttpEntry]):
    """The length of the key (4 bytes, big-endian; -1 for none), the key in UTF-8, and the payload."""

    version = 1

    def serialize(self, value: HttpEntry) -> bytes:
        if not isinstance(value, Row) or value.key is None:
            return _KEY_LENGTH.pack(_NO_KEY) + payload_of(value)
        key = value.key.encode()
        return _KEY_LENGTH.pack(len(key)) + key + value.payload

    def deserialize(self, version: int, data: bytes) -> HttpEntry:
        self._check_version(version)
        length = _KEY_LENGTH.unpack_from(data)[0] if len(data) >= _KEY_LENGTH.size else _NO_KEY - 1
        end = _KEY_LENGTH.size + max(length, 0)
        if length < _NO_KEY or end > len(data):
            raise ValueError(f"the bytes of an HTTP entry are damaged: found {len(data)} of at least {end} bytes")
        if length == _NO_KEY:
            return data[end:]
        return Row(data[end:], key=data[_KEY_LENGTH.size : end].decode())
