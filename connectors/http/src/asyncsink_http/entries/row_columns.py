"""The columns that say of a row what else options say of all: whom it goes to, how, and under which key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from asyncsink.context import Schema
from asyncsink.errors import SchemaError
from asyncsink.options import did_you_mean
from asyncsink_http.options import HttpOptions
from asyncsink_http.templates.checks import has_text

PAYLOAD_COLUMNS = ("body", "value")
"""A column of one of these names is the payload; the first one wins."""
URL_COLUMN, METHOD_COLUMN, HEADERS_COLUMN, KEY_COLUMN = "url", "method", "headers", "idempotencyKey"


class NamedColumns(NamedTuple):
    """These columns as the rows spell them; None for one that is not there.

    They are taken beside a payload column only: in rows that become JSON, columns of these names are data.
    """

    payload: str | None = None
    url: str | None = None
    method: str | None = None
    headers: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, schema: Schema | None, options: HttpOptions) -> Self:
        """The ones of a schema, for resolved options; checked by :meth:`check`."""
        if schema is None or options.body == "form":
            return cls()
        found = {name: schema.find(name) for name in PAYLOAD_COLUMNS}
        payload = next((each.name for each in found.values() if each is not None), None)
        if payload is None:
            return cls()
        columns = (schema.find(name) for name in (URL_COLUMN, METHOD_COLUMN, HEADERS_COLUMN, KEY_COLUMN))
        return cls(payload, *(None if each is None else each.name for each in columns))

    @property
    def decide_targets(self) -> bool:
        """Whether rows differ in whom they go to, or how."""
        return not self.url is self.method is self.headers is None

    @property
    def used(self) -> list[str]:
        """The columns that are there beside the payload."""
        return [name for name in self[1:] if name is not None]

    def check(self, schema: Schema, options: HttpOptions, *, one_row: bool) -> None:
        """:raises SchemaError: a column is of a type that cannot be used, or contradicts an option"""
        for name in (self.url, self.method):
            _check_type(schema, name, "string", is_text(schema, name))
        _check_type(schema, self.headers, "map<string,string>", _type(schema, self.headers) == "map<string,string>")
        _check_type(schema, self.key, "string, whole number or date", has_text(_type(schema, self.key)))
        if self.url is not None and options.url_template.columns:
            raise _twice(self.url, "url", options.shown_url)
        if self.method is not None and options.method_template.columns:
            raise _twice(self.method, "method", options.method)
        if self.key is not None and not one_row:
            raise SchemaError(
                f"column {self.key!r} is the key of a row, and body={options.body} sends many rows under one key; set "
                "body=single, or drop the column"
            )
        if self.key is not None and not options.idempotency_key:
            raise SchemaError(
                f"column {self.key!r} is the value of the header Idempotency-Key, and option 'idempotencyKey' is "
                "false; drop one of them"
            )


def excluded(schema: Schema | None, names: Sequence[str]) -> list[str]:
    """The columns that the option ``bodyExclude`` names, as the rows spell them.

    :raises SchemaError: there is no such column
    """
    if schema is None:
        return list(names)
    found = {name: schema.find(name) for name in names}
    for name, column in found.items():
        if column is None:
            hint = did_you_mean(name, schema.names)
            raise SchemaError(f"option 'bodyExclude' names the column {name!r}, and there is none of that name; {hint}")
    return [column.name for column in found.values() if column is not None]


def is_text(schema: Schema, name: str | None) -> bool:
    """Whether a column holds strings."""
    kind = _type(schema, name)
    return kind == "string" or kind.startswith(("char(", "varchar("))


def _type(schema: Schema, name: str | None) -> str:
    found = None if name is None else schema.find(name)
    return "" if found is None else found.type


def _check_type(schema: Schema, name: str | None, expected: str, fits: bool) -> None:
    if name is not None and not fits:
        raise SchemaError(
            f"column {name!r} is of type {_type(schema, name)}; beside a payload column one of that name must be "
            f"{expected}: cast it, or rename it and drop it from what is written"
        )


def _twice(column: str, option: str, value: str) -> SchemaError:
    return SchemaError(
        f"column {column!r} holds the {option} of each row, and option {option!r} = {value!r} makes another of other "
        "columns; drop one of them"
    )
