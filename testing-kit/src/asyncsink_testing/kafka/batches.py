"""What record batches hold: the values alone, decoded one by one."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from typing import Any

from asyncsink_testing.kafka.wire import Reader, WireError

_HEADER_BYTES = 61
_MAGIC = 2
_CONTROL = 0x20
_XERIAL = b"\x82SNAPPY\x00"


def values_in(records: bytes) -> list[bytes | None]:
    """The values of the record batches of one partition, in order; None for a null.

    :raises WireError: a batch is cut short, of an old format, or a control batch
    :raises ModuleNotFoundError: it is compressed by snappy, lz4 or zstd, and cramjam is not installed
    """
    return [value for batch in _batches(records) for value in _values(batch)]


def _batches(records: bytes) -> Iterator[bytes]:
    reader = Reader(records)
    while reader.at < len(records):
        begin = reader.at
        reader.take(8)
        reader.take(reader.int32())
        yield records[begin : reader.at]


def _values(batch: bytes) -> Iterator[bytes | None]:
    if len(batch) < _HEADER_BYTES or batch[16] != _MAGIC:
        raise WireError(f"a record batch of {len(batch)} bytes is not of format {_MAGIC}")
    attributes, count = struct.unpack_from(">h", batch, 21)[0], struct.unpack_from(">i", batch, 57)[0]
    if attributes & _CONTROL:
        raise WireError("a producer sent a control batch")
    reader = Reader(_decompressed(attributes & 7, batch[_HEADER_BYTES:]))
    for _ in range(count):
        end = reader.varint() + reader.at
        reader.take(1)  # attributes
        reader.varint(), reader.varint()  # timestamp and offset
        _nullable(reader)  # key
        yield _nullable(reader)
        reader.take(end - reader.at)  # headers
    if reader.at != len(reader.data):
        raise WireError(f"{len(reader.data) - reader.at} bytes follow the last of {count} records")


def _nullable(reader: Reader) -> bytes | None:
    length = reader.varint()
    return None if length < 0 else reader.take(length)


def _decompressed(codec: int, data: bytes) -> bytes:
    if codec == 0:
        return data
    if codec == 1:
        return gzip.decompress(data)
    import cramjam

    library: Any = cramjam
    if codec == 2:
        return _unsnapped(library.snappy, data)
    kinds = {3: library.lz4, 4: library.zstd}
    if codec not in kinds:
        raise WireError(f"codec {codec} is none of Kafka's")
    return bytes(kinds[codec].decompress(data))


def _unsnapped(snappy: Any, data: bytes) -> bytes:
    """Java frames its blocks in a way of its own; librdkafka does not."""
    if not data.startswith(_XERIAL):
        return bytes(snappy.decompress_raw(data))
    reader, parts = Reader(data, 16), []
    while reader.at < len(data):
        parts.append(bytes(snappy.decompress_raw(reader.take(reader.int32()))))
    return b"".join(parts)
