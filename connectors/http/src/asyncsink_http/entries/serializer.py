"""Entries as bytes, for a writer's state that outlives the writer."""

from __future__ import annotations

import struct

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_http.entries.entry import HttpEntry, Row, payload_of
from asyncsink_http.entries.target import Target

_LENGTH = struct.Struct(">i")
_NONE = -1


class HttpEntrySerializer(SimpleVersionedSerializer[HttpEntry]):
    """The key in UTF-8, the target as JSON, and the payload.

    Before key and target stand their lengths (4 bytes, big-endian; -1 for none). Version 1 had no target.
    """

    version = 2

    def serialize(self, value: HttpEntry) -> bytes:
        row = value if isinstance(value, Row) else Row(value)
        key = None if row.key is None else row.key.encode()
        target = None if row.target is None else row.target.packed()
        return _framed(key) + _framed(target) + payload_of(value)

    def deserialize(self, version: int, data: bytes) -> HttpEntry:
        if version != 1:
            self._check_version(version)
        key, start = _unframed(data, 0)
        target, start = (None, start) if version == 1 else _unframed(data, start)
        if key is None and target is None:
            return data[start:]
        return Row(data[start:], None if target is None else _target(target), None if key is None else key.decode())


def _framed(data: bytes | None) -> bytes:
    return _LENGTH.pack(_NONE) if data is None else _LENGTH.pack(len(data)) + data


def _unframed(data: bytes, start: int) -> tuple[bytes | None, int]:
    """What stands at `start`, and where it ends."""
    first = start + _LENGTH.size
    length = _LENGTH.unpack_from(data, start)[0] if len(data) >= first else _NONE - 1
    end = first + max(length, 0)
    if length < _NONE or end > len(data):
        raise ValueError(f"the bytes of an HTTP entry are damaged: found {len(data)} of at least {end} bytes")
    return None if length == _NONE else data[first:end], end


def _target(data: bytes) -> Target:
    try:
        return Target.unpacked(data)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the bytes of an HTTP entry are damaged: its target cannot be read ({error})") from error
