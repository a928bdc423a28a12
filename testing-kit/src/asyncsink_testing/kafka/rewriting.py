"""What a proxy changes in a broker's answers: where brokers are, and which versions of requests they know.

Clients are told of no version that is flexible, so that only one form of each answer has to be known here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from asyncsink_testing.kafka import produce
from asyncsink_testing.kafka.wire import Reader, WireError, array, string

FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER = 1, 3, 10, 18, 60

NEWEST = {produce.PRODUCE: produce.NEWEST, FETCH: 11, METADATA: 8, FIND_COORDINATOR: 2}
"""The newest versions that clients are told of; with later ones a broker says its address in other ways."""

_NOBODYS = 0x7FFF
"""An API that no client knows, in place of one that is kept from it."""

Address = tuple[str, int]
Moved = Callable[[Address], Address]
"""Where a broker is for clients, by where it says that it is."""


def rewritten(api: int, version: int, frame: bytes, moved: Moved) -> bytes:
    """The answer to a request of this kind as clients get it; both without their size.

    :raises WireError: it is cut short, or of a version that clients were not told of
    """
    if api == API_VERSIONS:
        return _fewer_versions(version, frame)
    if api in NEWEST and version > NEWEST[api]:
        raise WireError(f"request {api} came in version {version}, and clients are told of {NEWEST[api]}")
    if api == METADATA:
        return _moved_brokers(version, frame, moved)
    if api == FIND_COORDINATOR:
        return _moved_coordinator(version, frame, moved)
    return frame


def _fewer_versions(version: int, frame: bytes) -> bytes:
    reader, changed = Reader(frame, 4), bytearray(frame)
    if reader.int16():
        # The broker does not know the version of this request, and tells which it knows; the client asks again.
        return frame
    flexible = version >= 3
    count = reader.unsigned_varint() - 1 if flexible else reader.int32()
    for _ in range(count):
        at = reader.at
        api, _, newest = reader.int16(), reader.int16(), reader.int16()
        if flexible:
            _skip_tags(reader)
        if api == DESCRIBE_CLUSTER:
            struct.pack_into(">h", changed, at, _NOBODYS)
        struct.pack_into(">h", changed, at + 4, min(newest, NEWEST.get(api, newest)))
    return bytes(changed)


def _skip_tags(reader: Reader) -> None:
    for _ in range(reader.unsigned_varint()):
        reader.unsigned_varint()
        reader.take(reader.unsigned_varint())


def _moved_brokers(version: int, frame: bytes, moved: Moved) -> bytes:
    reader = Reader(frame, 8 if version >= 3 else 4)
    head = frame[: reader.at]

    def broker() -> bytes:
        node, host, port = struct.pack(">i", reader.int32()), reader.string() or "", reader.int32()
        rack = string(reader.string()) if version >= 1 else b""
        return node + _place(moved((host, port))) + rack

    return head + array(reader.array(broker)) + reader.rest()


def _moved_coordinator(version: int, frame: bytes, moved: Moved) -> bytes:
    reader = Reader(frame, 8 if version >= 1 else 4)
    reader.int16()
    if version >= 1:
        reader.string()
    reader.int32()
    head = frame[: reader.at]
    host, port = reader.string() or "", reader.int32()
    # Without a coordinator there is no address to change.
    return head + _place(moved((host, port)) if host else (host, port)) + reader.rest()


def _place(address: Address) -> bytes:
    return string(address[0]) + struct.pack(">i", address[1])
