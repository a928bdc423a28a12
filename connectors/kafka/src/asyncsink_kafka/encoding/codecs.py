"""The codecs that Kafka knows, by libraries that are there anyway: pyarrow brings all of them but gzip.

Levels and what they mean are those of Java's producer (KIP-390).
"""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, Final

import pyarrow as pa

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.options.compression import GZIPS_OWN, LEVELS, broken_rule


class Codec(ABC):
    """Compresses the records of a batch.

    :cvar name: Kafka's
    :cvar attributes: the bits of a batch's attributes that say so
    """

    name: ClassVar[str]
    attributes: ClassVar[int]

    @abstractmethod
    def compress(self, data: memoryview) -> bytes:
        """The bytes that take the place of the records; they may be more."""

    @abstractmethod
    def decompress(self, data: memoryview, size: int) -> bytes:
        """The `size` bytes of which `data` was made."""


class NoCodec(Codec):
    """Leaves the records as they are."""

    name = "none"
    attributes = 0

    def compress(self, data: memoryview) -> bytes:
        return data.tobytes()

    def decompress(self, data: memoryview, size: int) -> bytes:
        return data.tobytes()


class Gzip(Codec):
    """zlib, as Java has it."""

    name = "gzip"
    attributes = 1
    _GZIP: Final = 31  # zlib's word for gzip's frame around the largest window

    def __init__(self, level: int = GZIPS_OWN) -> None:
        self._level = level

    def compress(self, data: memoryview) -> bytes:
        return zlib.compress(data, self._level, self._GZIP)

    def decompress(self, data: memoryview, size: int) -> bytes:
        return zlib.decompress(data, self._GZIP, size)


class Snappy(Codec):
    """Blocks of 32 KiB in the frame of xerial's library, which is what Java's clients read and write."""

    name = "snappy"
    attributes = 2
    _MAGIC: Final = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)  # version, and the oldest that can read it
    _BLOCK: Final = 32 * 1024
    _LENGTH: Final = struct.Struct(">i")

    def __init__(self) -> None:
        self._codec = _arrow_codec("snappy", self.name)

    def compress(self, data: memoryview) -> bytes:
        parts = [self._MAGIC]
        for start in range(0, len(data), self._BLOCK):
            block = self._codec.compress(data[start : start + self._BLOCK], asbytes=True)
            parts += (self._LENGTH.pack(len(block)), block)
        return b"".join(parts)

    def decompress(self, data: memoryview, size: int) -> bytes:
        blocks = _blocks(data, len(self._MAGIC), self._LENGTH)
        return b"".join(
            self._codec.decompress(block, min(self._BLOCK, size - self._BLOCK * place), asbytes=True)
            for place, block in enumerate(blocks)
        )


class Lz4(Codec):
    """The frame format with independent blocks of 64 KiB and no checksums, the only one that Kafka takes (KIP-57).

    Arrow's own frames have linked blocks, so the frame is made here. As in Java, level 9, the default, is the fast
    compressor and any other is the thorough one at that level.
    """

    name = "lz4"
    attributes = 3
    # Magic number, flags (version 1, independent blocks), 64 KiB, and the checksum of the two bytes before it.
    _MAGIC: Final = bytes.fromhex("04224d18 60 40 82")
    _END: Final = bytes(4)
    _BLOCK: Final = 64 * 1024
    _LENGTH: Final = struct.Struct("<I")
    _STORED: Final = 1 << 31
    _FAST: Final = 9
    _THOROUGH: Final = range(3, 13)  # what LZ4 has; Java clips likewise

    def __init__(self, level: int = _FAST) -> None:
        thorough = min(max(level, self._THOROUGH[0]), self._THOROUGH[-1])
        self._codec = _arrow_codec("lz4_raw", self.name, 1 if level == self._FAST else thorough)

    def compress(self, data: memoryview) -> bytes:
        parts = [self._MAGIC]
        for start in range(0, len(data), self._BLOCK):
            plain = data[start : start + self._BLOCK]
            block = self._codec.compress(plain, asbytes=True)
            if len(block) < len(plain):
                parts += (self._LENGTH.pack(len(block)), block)
            else:  # a reader need not take a block that is larger than 64 KiB
                parts += (self._LENGTH.pack(len(plain) | self._STORED), plain.tobytes())
        parts.append(self._END)
        return b"".join(parts)

    def decompress(self, data: memoryview, size: int) -> bytes:
        parts, place, left = [], len(self._MAGIC), size
        while left > 0:
            (length,) = self._LENGTH.unpack_from(data, place)
            block = data[place + 4 : place + 4 + (length & ~self._STORED)]
            whole = min(self._BLOCK, left)
            stored = length & self._STORED
            parts.append(block.tobytes() if stored else self._codec.decompress(block, whole, asbytes=True))
            place, left = place + 4 + len(block), left - whole
        return b"".join(parts)


class Zstd(Codec):
    """One frame of Zstandard."""

    name = "zstd"
    attributes = 4

    def __init__(self, level: int = 3) -> None:
        self._codec = _arrow_codec("zstd", self.name, level)

    def compress(self, data: memoryview) -> bytes:
        compressed: bytes = self._codec.compress(data, asbytes=True)
        return compressed

    def decompress(self, data: memoryview, size: int) -> bytes:
        plain: bytes = self._codec.decompress(data, size, asbytes=True)
        return plain


_CODECS: Final[dict[str, type[Codec]]] = {each.name: each for each in (NoCodec, Gzip, Snappy, Lz4, Zstd)}
NAMES: Final = tuple(_CODECS)


def codec(name: str, level: int | None = None) -> Codec:
    """The codec of this name: none, gzip, snappy, lz4 or zstd.

    :param level: as Java's ``compression.<name>.level``; None for the default
    :raises ConfigurationError: there is none of this name, it has no such level, or pyarrow was built without it
    """
    if name not in _CODECS:
        raise ConfigurationError(f"compression is {name!r}; it must be one of {', '.join(NAMES)}")
    if level is None:
        return _CODECS[name]()
    if name not in LEVELS:
        raise ConfigurationError(f"the level of compression is {level}, but {name} has no levels; leave it out")
    if (rule := broken_rule(name, level)) is not None:
        raise ConfigurationError(f"the level of compression is {level}; that of {name} must be {rule}, or left out")
    make: Callable[[int], Codec] = _CODECS[name]  # those with levels take one
    return make(level)


def _arrow_codec(name: str, kafka_name: str, level: int | None = None) -> pa.Codec:
    if not pa.Codec.is_available(name):
        raise ConfigurationError(
            f"compression is {kafka_name!r}, but this pyarrow {pa.__version__} was built without {name}; "
            "install pyarrow from PyPI or conda-forge, or take another compression"
        )
    return pa.Codec(name, level)


def _blocks(data: memoryview, place: int, length: struct.Struct) -> Iterator[memoryview]:
    while place < len(data):
        (size,) = length.unpack_from(data, place)
        place += length.size
        yield data[place : place + size]
        place += size
