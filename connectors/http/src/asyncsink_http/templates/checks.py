"""Columns of templates against the columns that there are: told before any row is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from asyncsink.context import Column, Schema
from asyncsink.errors import SchemaError
from asyncsink.json_schema import check_json_types
from asyncsink.options import did_you_mean

if TYPE_CHECKING:
    from asyncsink_http.templates.template import Placeholder

_TEXT_TYPES = frozenset(
    {"string", "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint"}
    | {"date", "timestamp", "timestamp_ltz", "timestamp_ntz"}
)
_TEXT_PREFIXES = ("char(", "varchar(", "decimal(")

_NO_SECONDS = frozenset({"boolean", "binary", "date", "timestamp", "timestamp_ltz", "timestamp_ntz"})


def has_text(kind: str) -> bool:
    """Whether values of a type, in Spark's short form, have one exact plain text."""
    return kind in _TEXT_TYPES or kind.startswith(_TEXT_PREFIXES)


def column_for(part: Placeholder, schema: Schema, option: str, *, is_secret: bool) -> str:
    """The column of a placeholder as the rows spell it.

    :param is_secret: whether no message may quote the placeholder: what looks like one may be part of a secret
    :raises SchemaError: there is none, or its type cannot be written there
    """
    found = schema.find(part.column)
    if found is None:
        named = "a column" if is_secret else f"the column {part.column!r}"
        hint = f"the columns are {', '.join(schema.names)}" if is_secret else did_you_mean(part.column, schema.names)
        raise SchemaError(
            f"option {option!r} has a place for {named}, and there is none of that name; {hint}; write {{{{ and }}}} "
            "for braces that are meant as such"
        )
    if part.encoder.only_text and not has_text(found.type):
        raise SchemaError(
            f"column {found.name!r} is of type {found.type}, and option {option!r} has a place for it; there a value "
            "is a string, whole number, decimal, boolean, date or timestamp: cast it to string"
        )
    if not part.encoder.only_text:
        check_json_types(Schema((Column(found.name, found.type),)))
    return found.name


def check_seconds(schema: Schema, names: Sequence[str], option: str) -> None:
    """:raises SchemaError: a column cannot be a number of seconds, nor a text of one"""
    for name in names:
        found = schema.find(name)
        if found is not None and (found.type in _NO_SECONDS or "<" in found.type):
            raise SchemaError(
                f"column {found.name!r} is of type {found.type}, and option {option!r} has a place for seconds since "
                "1970; make a number of it, of a timestamp by unix_micros(timestamp) / 1e6"
            )
