"""Which columns can become JSON: told by their types, before any row is read."""

from __future__ import annotations

import re

from asyncsink.context import Column, Schema
from asyncsink.errors import SchemaError

_TYPES = frozenset(
    {"void", "null", "string", "char", "varchar", "binary", "boolean", "date", "time", "array", "map", "struct"}
    | {"byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "float", "real", "double", "decimal"}
    | {"timestamp", "timestamp_ltz", "timestamp_ntz"}
)
_KEY_TYPES = _TYPES - {"binary", "array", "map", "struct", "void", "null"}
# A type's name in Spark's short form; the name of a struct's field is followed by a colon and does not match.
_TYPE_NAME = re.compile(r"(?:^|[<,:])([^<>,:()]+)(?=$|[<>,(])")
_QUOTED_NAME = re.compile(r"`(?:[^`]|``)*`")
_MAP_KEY = re.compile(r"(?:^|[<,:])map<([^<>,:()]+)")


def check_json_types(schema: Schema) -> None:
    """Refuse a column whose type has no form in JSON, at any depth; a whole row becomes a JSON object otherwise.

    The types are Spark's, in their short form (``struct<a:int>``). They are those that :mod:`asyncsink.json_text` and
    :mod:`asyncsink.arrow.json_rows` can write.

    :raises SchemaError: names the column, its type and the remedy
    """
    for column in schema.columns:
        _check(column)


def _check(column: Column) -> None:
    # A struct's field may be called anything; names with a type's punctuation come quoted.
    kind = _QUOTED_NAME.sub("_", column.type)
    names = [name.strip() for name in _TYPE_NAME.findall(kind)]
    unknown = [name for name in names if name not in _TYPES]
    if unknown or not names:
        raise SchemaError(
            f"column {column.name!r} is of type {column.type}; {(unknown or [column.type])[0]} has no form in "
            "JSON: cast it to string, or drop it"
        )
    for key in _MAP_KEY.findall(kind):
        if key.strip() not in _KEY_TYPES:
            raise SchemaError(
                f"column {column.name!r} is of type {column.type}; the key of a map must be a string, number, "
                f"boolean, date or timestamp to become a name in JSON, and is {key.strip()}"
            )
