"""One Kafka record as a program writes it and as a dead letter holds it, and its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from asyncsink.serializer import SimpleVersionedSerializer


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRecord:
    """A record, and where it is to go.

    :param value: None is a tombstone where the topic is compacted
    :param key: decides the partition, unless the partitioner ignores keys
    :param topic: None for the sink's one topic
    :param headers: names and values in order; a name may come twice. None for a name is in records that were refused
        for it, and in no others
    :param partition: None for the partitioner's choice
    :param timestamp: ms since the epoch; None for the time at which it is sent
    """

    value: bytes | None = None
    key: bytes | None = None
    topic: str | None = None
    headers: tuple[tuple[str | None, bytes | None], ...] = ()
    partition: int | None = None
    timestamp: int | None = None


_LENGTH: Final = struct.Struct(">i")
_NULL: Final = -1
_PLAIN_FIELDS: Final = 5


class KafkaRecordSerializer(SimpleVersionedSerializer[KafkaRecord]):
    """Value, key, topic, partition, timestamp, then name and value of each header.

    Every field is a length (4 bytes, big-endian; -1 for None) and so many bytes: texts in UTF-8, numbers big-endian in
    two's complement. What Kafka would refuse is kept as well, since dead letters hold such records.
    """

    version = 1

    def serialize(self, value: KafkaRecord) -> bytes:
        fields = [value.value, value.key, _text_bytes(value.topic), _number_bytes(value.partition)]
        fields.append(_number_bytes(value.timestamp))
        for name, content in value.headers:
            fields += (_text_bytes(name), content)
        parts: list[bytes] = []
        for field in fields:
            parts += (_LENGTH.pack(_NULL),) if field is None else (_LENGTH.pack(len(field)), field)
        return b"".join(parts)

    def deserialize(self, version: int, data: bytes) -> KafkaRecord:
        self._check_version(version)
        fields = [*_fields(data)]
        headers = fields[_PLAIN_FIELDS:]
        if len(fields) < _PLAIN_FIELDS or len(headers) % 2:
            raise _damaged(f"{len(fields)} fields")
        value, key, topic, partition, timestamp = fields[:_PLAIN_FIELDS]
        return KafkaRecord(
            value=value,
            key=key,
            topic=_text(topic),
            headers=tuple((_text(name), content) for name, content in zip(headers[::2], headers[1::2], strict=True)),
            partition=_number(partition),
            timestamp=_number(timestamp),
        )


def _fields(data: bytes) -> Iterator[bytes | None]:
    start = 0
    while start < len(data):
        begin = start + _LENGTH.size
        if begin > len(data):
            raise _damaged(f"{len(data)} of at least {begin} bytes")
        (length,) = _LENGTH.unpack_from(data, start)
        start = begin + max(length, 0)
        if length < _NULL or start > len(data):
            raise _damaged(f"a field of {length} bytes where {len(data) - begin} are left")
        yield None if length == _NULL else bytes(data[begin:start])


def _text_bytes(text: str | None) -> bytes | None:
    # A name that is no Unicode is refused elsewhere; what is refused must still be kept.
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise _damaged("a text that is no UTF-8") from error


def _number_bytes(number: int | None) -> bytes | None:
    return None if number is None else number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _number(data: bytes | None) -> int | None:
    if data is None:
        return None
    if not data:
        raise _damaged("a number of 0 bytes")
    return int.from_bytes(data, "big", signed=True)


def _damaged(found: str) -> ValueError:
    return ValueError(f"the bytes of a Kafka record are damaged: found {found}")
