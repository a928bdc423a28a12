"""Elements as JSON, whatever they hold, for a person or a program to repair."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from math import isfinite
from typing import Any


def element_as_json(element: object) -> str:
    """An element as JSON text in ASCII; never raises.

    Rows, named tuples, dataclasses, mappings and Arrow batches of one row become objects. Bytes become
    ``{"$base64": "..."}``, dates and times their ISO text. Whatever JSON has no form for becomes
    ``{"$repr": "..."}``, and so does the whole of an element that is nested without end.
    """
    try:
        return json.dumps(_plain(element))
    except Exception:  # a foreign object's own code, or a cycle: what can be said of it must not be lost as well
        return json.dumps(_described(element))


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else _described(value)
        case bytes() | bytearray() | memoryview():
            return {"$base64": b64encode(value).decode("ascii")}
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case Mapping():
            return {key if isinstance(key, str) else repr(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return _named(value) or [_plain(each) for each in value]
    if hasattr(value, "num_rows") and value.num_rows == 1:
        return {name: _cell(value.column(at)) for at, name in enumerate(value.schema.names)}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return _described(value)


def _cell(column: Any) -> Any:
    """The only value of an Arrow column; bytes of a string that is no UTF-8, and text of what Python cannot hold."""
    try:
        return _plain(column[0].as_py())
    except (ValueError, OverflowError):
        try:
            return _plain(column[0].as_buffer().to_pybytes())
        except AttributeError:
            return {"$repr": str(column)}


def _named(values: Any) -> dict[str, Any] | None:
    """The fields of a named tuple or of Spark's Row, by name; None for a plain list or tuple."""
    names = getattr(values, "_fields", None) or getattr(values, "__fields__", None)
    return {name: _plain(each) for name, each in zip(names, values, strict=True)} if names else None


def _described(value: object) -> dict[str, str]:
    try:
        return {"$repr": repr(value)}
    except Exception as error:  # its __repr__, or nesting without end
        return {"$repr": f"<{type(value).__qualname__}, whose repr raised {type(error).__name__}>"}
