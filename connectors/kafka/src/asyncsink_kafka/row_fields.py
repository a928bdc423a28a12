"""A record of the values that a program writes, each checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, Final

from asyncsink_kafka.record import KafkaRecord

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_BYTES: Final = (bytes, NoneType)


def record_of_mapping(element: Mapping[Any, Any], used: Collection[str]) -> KafkaRecord:
    """The record of a mapping by the columns' names, which compare without case; other names are left out.

    :raises TypeError: a field's value is of a type that it cannot have
    :raises ValueError: it has no ``value``, or a number is too large for Kafka
    """
    found: dict[str, Any] = {}
    for name, content in element.items():
        if isinstance(name, str) and name.lower() in used:
            found.setdefault(name.lower(), content)
    if "value" not in found:
        names = ", ".join(map(repr, element)) or "none at all"
        raise ValueError(f"the element has no field 'value', only {names}; add it, None for a tombstone")
    return KafkaRecord(**{name: _FIELDS[name](name, content) for name, content in found.items() if content is not None})


def checked_record(record: KafkaRecord) -> KafkaRecord:
    """A record of the same content whose fields have their types; the record itself where it is a plain one.

    :raises TypeError: a field's value is of a type that it cannot have
    :raises ValueError: a number is too large for Kafka
    """
    if _is_plain(record):
        return record
    made = {each.name: getattr(record, each.name) for each in fields(record)}
    headers = made.pop("headers") or ()
    checked = {name: _FIELDS[name](name, content) for name, content in made.items() if content is not None}
    return KafkaRecord(headers=_headers("headers", headers), **checked)


def _is_plain(record: KafkaRecord) -> bool:
    """Whether it is one of the usual ones, value and key alone, at a glance: the whole check takes 1.5 us."""
    return (
        type(record.value) in _BYTES
        and type(record.key) in _BYTES
        and record.headers == ()
        and record.partition is None
        and record.timestamp is None
        and (record.topic is None or (type(record.topic) is str and record.topic.isascii()))
    )


def as_bytes(name: str, content: Any) -> bytes:
    """Bytes as they are, text in UTF-8."""
    if type(content) is bytes:
        return content
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise _wrong_type(name, content, "bytes or str", "convert it, for example by json.dumps")


def _text(name: str, content: Any) -> str:
    if not isinstance(content, str):
        raise _wrong_type(name, content, "str", "decode bytes")
    content.encode()  # a lone surrogate is found here, where it concerns this element alone
    return content


def _partition(name: str, content: Any) -> int:
    if isinstance(content, bool) or not isinstance(content, int):
        raise _wrong_type(name, content, "int", "leave it out for the partitioner's choice")
    return _bounded(name, content, 31)


def _timestamp(name: str, content: Any) -> int:
    if isinstance(content, datetime):
        # Without a zone it is taken to be in UTC, as Spark's timestamp_ntz is.
        moment = content if content.tzinfo is not None else content.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MS
    if isinstance(content, bool) or not isinstance(content, int):
        raise _wrong_type(name, content, "int, in ms since 1970, or datetime", "leave it out for the time of sending")
    return _bounded(name, content, 63)


def _bounded(name: str, number: int, bits: int) -> int:
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError(f"field {name!r} = {number} needs more than the {bits + 1} bits that Kafka has for it")
    return number


def _headers(name: str, content: Any) -> tuple[tuple[str, bytes | None], ...]:
    if type(content) is tuple and all(map(_is_header, content)):
        return content
    return tuple(_header(name, key, value) for key, value in _pairs(name, content))


def _is_header(header: Any) -> bool:
    return (
        type(header) is tuple
        and len(header) == 2
        and type(header[0]) is str
        and header[0].isascii()
        and (header[1] is None or type(header[1]) is bytes)
    )


def _header(name: str, key: Any, value: Any) -> tuple[str, bytes | None]:
    if key is None:
        raise ValueError(f"field {name!r} has a header without a key, which Kafka does not take; leave it out")
    if not isinstance(key, str):
        raise _wrong_type(name, key, "str", "decode bytes", of="has a key")
    return _text(name, key), None if value is None else as_bytes(f"{name}.{key}", value)


def _pairs(name: str, content: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(content, Mapping):
        yield from content.items()
        return
    if isinstance(content, str | bytes) or not isinstance(content, Iterable):
        raise _wrong_type(name, content, "a mapping, or pairs of name and value", "write [('name', b'value')]")
    for each in content:
        if isinstance(each, Mapping) and {"key", "value"} <= each.keys():
            yield each["key"], each["value"]
        elif isinstance(each, tuple | list) and len(each) == 2:
            yield each[0], each[1]
        else:
            raise _wrong_type(name, each, "pairs of name and value", "write [('name', b'value')]", of="holds one")


def _wrong_type(name: str, content: Any, wanted: str, remedy: str, of: str = "is") -> TypeError:
    return TypeError(f"field {name!r} {of} of type {type(content).__name__}; it must be {wanted}: {remedy}")


_FIELDS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "value": as_bytes,
    "key": as_bytes,
    "topic": _text,
    "headers": _headers,
    "partition": _partition,
    "timestamp": _timestamp,
}
