"""Kafka's primitive types, as far as the versions that are not flexible use them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_SIZES = {"b": 1, "h": 2, "i": 4, "q": 8}


class WireError(ValueError):
    """The bytes are not what the protocol says they must be."""


class Reader:
    """Takes values off the front of bytes.

    Each method raises :class:`WireError` where too few are left.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, count: int) -> bytes:
        """So many bytes."""
        if not 0 <= count <= len(self.data) - self.at:
            raise WireError(f"{count} bytes are due at {self.at}, and {len(self.data) - self.at} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, kind: str) -> int:
        """A signed number: ``b``, ``h``, ``i`` or ``q`` for 1, 2, 4 or 8 bytes."""
        value: int = struct.unpack(f">{kind}", self.take(_SIZES[kind]))[0]
        return value

    def int16(self) -> int:
        return self.number("h")

    def int32(self) -> int:
        return self.number("i")

    def int64(self) -> int:
        return self.number("q")

    def unsigned_varint(self) -> int:
        value, shift = 0, 0
        while (byte := self.take(1)[0]) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def varint(self) -> int:
        """A zigzag number, as records have them."""
        value = self.unsigned_varint()
        return value >> 1 ^ -(value & 1)

    def string(self) -> str | None:
        length = self.int16()
        return None if length < 0 else self.take(length).decode()

    def blob(self) -> bytes | None:
        length = self.int32()
        return None if length < 0 else self.take(length)

    def array(self, item: Callable[[], T]) -> list[T]:
        """An array of what `item` reads; a null array is an empty one."""
        return [item() for _ in range(max(0, self.int32()))]

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.at)


def string(text: str | None) -> bytes:
    """A nullable string."""
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def blob(data: bytes | None) -> bytes:
    """Nullable bytes."""
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def array(items: list[bytes]) -> bytes:
    """An array of what is encoded already."""
    return struct.pack(">i", len(items)) + b"".join(items)
