"""Bytes with a version (FLIP-143), never pickles: they outlive the program that wrote them."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Generic, TypeVar, Union, get_args, get_origin, get_type_hints
from zlib import crc32

from asyncsink.state import BufferedRequestState

T = TypeVar("T")
EntryT = TypeVar("EntryT")


class SimpleVersionedSerializer(ABC, Generic[T]):
    """Turns values to bytes and back, over versions of the code."""

    version: ClassVar[int]
    """The version that :meth:`serialize` writes."""

    @abstractmethod
    def serialize(self, value: T) -> bytes:
        """The bytes of `value` in the present :attr:`version`."""

    @abstractmethod
    def deserialize(self, version: int, data: bytes) -> T:
        """The value of `data`, written in `version`.

        :raises ValueError: the version is unknown or the bytes are damaged
        """

    def _check_version(self, version: int) -> None:
        if version != self.version:
            raise ValueError(
                f"{type(self).__name__} reads version {self.version}, but the bytes are of version {version}; "
                "use the release that wrote them, or a newer one"
            )


class BytesSerializer(SimpleVersionedSerializer[bytes]):
    """Bytes as they are."""

    version = 1

    def serialize(self, value: bytes) -> bytes:
        return value

    def deserialize(self, version: int, data: bytes) -> bytes:
        self._check_version(version)
        return bytes(data)


_PLAIN: Final = (str, bytes, int, float, bool, NoneType)
_TAG: Final = struct.Struct(">cI")
_SHAPE: Final = struct.Struct(">I")


class DataclassSerializer(SimpleVersionedSerializer[T]):
    """Dataclasses whose fields are str, bytes, int, float, bool or None.

    The bytes hold a checksum of the fields' names, so that a class that has changed is noticed. A changed class needs a
    subclass with a higher :attr:`version`, whose ``deserialize`` knows what to do with the older bytes.

    :raises TypeError: the class is no dataclass of plain fields
    """

    version = 1

    def __init__(self, kind: type[T]) -> None:
        if not (is_dataclass(kind) and all(each.init for each in fields(kind))):
            raise TypeError(f"{kind.__qualname__} is no dataclass whose fields are all arguments of its constructor")
        hints = get_type_hints(kind)
        self._kind = kind
        self._names = tuple(each.name for each in fields(kind))
        for name in self._names:
            if not _is_plain(hints[name]):
                raise TypeError(
                    f"{kind.__qualname__}.{name} is of type {hints[name]}; DataclassSerializer knows str, bytes, int, "
                    "float, bool and None; write a SimpleVersionedSerializer for others"
                )
        self._shape = crc32("\0".join(self._names).encode())

    def serialize(self, value: T) -> bytes:
        parts = [_SHAPE.pack(self._shape)]
        for name in self._names:
            tag, payload = _encode(getattr(value, name), name)
            parts += (_TAG.pack(tag, len(payload)), payload)
        return b"".join(parts)

    def deserialize(self, version: int, data: bytes) -> T:
        self._check_version(version)
        view = memoryview(data)
        if len(view) < _SHAPE.size or _SHAPE.unpack_from(view)[0] != self._shape:
            raise ValueError(f"the bytes are no {self._kind.__qualname__} with the fields {', '.join(self._names)}")
        values = [*_decode_all(view[_SHAPE.size :], self._kind.__qualname__)]
        if len(values) != len(self._names):
            raise _damaged(self._kind.__qualname__, f"{len(values)} of {len(self._names)} fields")
        return self._kind(**dict(zip(self._names, values, strict=True)))


def _is_plain(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return all(each in _PLAIN for each in get_args(hint))
    return hint in _PLAIN


def _encode(value: object, name: str) -> tuple[bytes, bytes]:
    match value:
        case None:
            return b"N", b""
        case bool():
            return b"T" if value else b"F", b""
        case int():
            return b"I", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
        case float():
            return b"D", struct.pack(">d", value)
        case str():
            return b"S", value.encode("utf-8", "surrogatepass")
        case bytes():
            return b"B", value
    raise TypeError(f"field {name!r} holds a {type(value).__name__}; it must be a str, bytes, int, float, bool or None")


def _decode_all(view: memoryview, what: str) -> Iterator[Any]:
    start = 0
    while start < len(view):
        if start + _TAG.size > len(view):
            raise _damaged(what, f"{len(view)} bytes")
        tag, length = _TAG.unpack_from(view, start)
        start += _TAG.size + length
        if start > len(view):
            raise _damaged(what, f"{len(view)} of at least {start} bytes")
        yield _decode(tag, bytes(view[start - length : start]), what)


def _decode(tag: bytes, payload: bytes, what: str) -> Any:
    match tag:
        case b"N" | b"T" | b"F":
            return {b"N": None, b"T": True, b"F": False}[tag]
        case b"I":
            return int.from_bytes(payload, "big", signed=True)
        case b"D" if len(payload) == 8:
            return struct.unpack(">d", payload)[0]
        case b"S":
            return payload.decode("utf-8", "surrogatepass")
        case b"B":
            return payload
    raise _damaged(what, f"a value of kind {tag!r} with {len(payload)} bytes")


class BufferedRequestStateSerializer(SimpleVersionedSerializer[BufferedRequestState[EntryT]]):
    """The state of an :class:`~asyncsink.AsyncSink`'s writer, its entries by a serializer of their own.

    Layout, big-endian: version of the entries and their number (4 bytes each), 8 bytes a size as it was measured, 4
    bytes a length in this file, then the entries.
    """

    version = 1

    _HEADER: ClassVar = struct.Struct(">II")

    def __init__(self, entry_serializer: SimpleVersionedSerializer[EntryT]) -> None:
        self._entries = entry_serializer

    def serialize(self, value: BufferedRequestState[EntryT]) -> bytes:
        payloads = [self._entries.serialize(entry) for entry in value.entries]
        numbers = self._numbers(len(payloads)).pack(*value.sizes, *map(len, payloads))
        return b"".join([self._HEADER.pack(self._entries.version, len(payloads)), numbers, *payloads])

    def deserialize(self, version: int, data: bytes) -> BufferedRequestState[EntryT]:
        self._check_version(version)
        if len(data) < self._HEADER.size:
            raise _damaged("BufferedRequestState", f"{len(data)} of at least {self._HEADER.size} bytes")
        entry_version, count = self._HEADER.unpack_from(data)
        numbers = self._numbers(count)
        start = self._HEADER.size + numbers.size
        if len(data) < start:
            raise _damaged("BufferedRequestState", f"{len(data)} of at least {start} bytes")
        sizes_and_lengths = numbers.unpack_from(data, self._HEADER.size)
        sizes, lengths = sizes_and_lengths[:count], sizes_and_lengths[count:]
        if len(data) != start + sum(lengths):
            raise _damaged("BufferedRequestState", f"{len(data)} of {start + sum(lengths)} bytes")
        entries = []
        for length in lengths:
            entries.append(self._entries.deserialize(entry_version, data[start : start + length]))
            start += length
        return BufferedRequestState(tuple(entries), sizes)

    @staticmethod
    def _numbers(count: int) -> struct.Struct:
        return struct.Struct(f">{count}Q{count}I")


def _damaged(what: str, found: str) -> ValueError:
    return ValueError(f"the bytes of a {what} are damaged: found {found}")
