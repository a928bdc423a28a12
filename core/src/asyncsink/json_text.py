"""JSON of single Python values, in the form in which Spark's ``to_json`` writes them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite, isnan
from typing import Any


def encode_row(row: Mapping[str, Any]) -> bytes:
    """A row as one line of JSON in UTF-8.

    As in Spark a null field is left out, of a nested struct too, while nulls within lists stay; binary is base64, a
    timestamp ISO 8601 (one with a time zone in UTC), a decimal a number with all its digits, and NaN and the
    infinities are strings, as JSON has no numbers for them.

    :raises TypeError: a value has no form in JSON
    """
    return encode_value(row).encode()


def encode_value(value: Any) -> str:
    """The JSON of any value that a row may hold; see :func:`encode_row`."""
    encoder = _ENCODERS.get(type(value))
    if encoder is None:
        encoder = next((each for kind, each in _ENCODERS.items() if isinstance(value, kind)), None)
    if encoder is None:
        raise TypeError(f"a value of type {type(value).__name__} has no form in JSON; cast it to a string")
    return encoder(value)


def _mapping(value: Mapping[Any, Any]) -> str:
    items = (f"{_key(key)}:{encode_value(item)}" for key, item in value.items() if item is not None)
    return f"{{{','.join(items)}}}"


def _sequence(value: list[Any] | tuple[Any, ...]) -> str:
    return f"[{','.join(map(encode_value, value))}]"


def _key(key: Any) -> str:
    if isinstance(key, str):
        return encode_basestring(key)
    text = encode_value(key)
    return text if text.startswith('"') else encode_basestring(text)


def _float(value: float) -> str:
    if isfinite(value):
        return repr(float(value))
    return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _decimal(value: Decimal) -> str:
    return format(value, "f") if value.is_finite() else _float(float(value))


def _datetime(value: datetime) -> str:
    zone = "" if value.tzinfo is None else "Z"
    moment = value if value.tzinfo is None else value.astimezone(UTC)
    # Three digits as Spark writes them, six where a time is finer than that: nothing is cut off.
    digits = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return f'"{moment.replace(tzinfo=None).isoformat(timespec=digits)}{zone}"'


# In the order in which a subclass finds its base: bool before int, datetime before date.
_ENCODERS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    bool: lambda value: "true" if value else "false",
    int: lambda value: str(int(value)),
    float: _float,
    type(None): lambda value: "null",
    dict: _mapping,
    Mapping: _mapping,
    list: _sequence,
    tuple: _sequence,
    Decimal: _decimal,
    datetime: _datetime,
    date: lambda value: f'"{value.isoformat()}"',
    time: lambda value: f'"{value.isoformat()}"',
    bytes: lambda value: f'"{b64encode(value).decode()}"',
    bytearray: lambda value: f'"{b64encode(value).decode()}"',
    memoryview: lambda value: f'"{b64encode(value).decode()}"',
}
