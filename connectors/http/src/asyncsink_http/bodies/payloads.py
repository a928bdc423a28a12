"""From rows to payloads: what the bytes of a row are, by the body that they are for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from asyncsink.context import Schema
from asyncsink.errors import SchemaError
from asyncsink.payloads import Payloads
from asyncsink_http.bodies.row_template import TemplatePayloads, row_template
from asyncsink_http.options import HttpOptions
from asyncsink_http.templates.checks import check_seconds

if TYPE_CHECKING:
    import pyarrow as pa

_NESTED = ("array<", "map<", "struct<")


class RowPayloads(Protocol):
    """Makes the payloads of rows, as :class:`~asyncsink.payloads.Payloads` does for most bodies."""

    @property
    def column(self) -> str | None:
        """The name of the column that is the payload; None where it is made of the row."""
        ...

    def of(self, element: Any) -> bytes:
        """The payload of one row or element.

        :raises TypeError: it is none, or one of its values has no form in JSON
        :raises ValueError: its payload is null, or a value has no place in the body
        """
        ...

    def column_of(self, batch: Any) -> pa.Array:
        """The payloads of all rows of a record batch, large_binary without nulls; raises as :meth:`of` does."""
        ...


def payloads_of(
    options: HttpOptions, schema: Schema | None, names: Sequence[str], *, other_columns: Sequence[str] = ()
) -> RowPayloads:
    """What makes payloads for the body of resolved options; the other parameters are those of `Payloads`.

    :raises SchemaError: a column cannot be sent in that body, or one that it needs is missing
    """
    if options.body == "form":
        return FormPayloads(schema, other_columns)
    if options.body == "raw":
        return RawPayloads(schema, names, other_columns)
    if options.body == "template":
        template = row_template(options.template_row, options.key_columns)
        is_json = options.preset is not None
        if schema is not None:
            check_seconds(schema, options.time_columns, "preset.time")
        return TemplatePayloads(template, options.template_separator, schema, names, other_columns, is_json=is_json)
    return Payloads(schema, names, other_columns=other_columns)


class FormPayloads:
    """Every column as a field of a form; a null is left out. Bytes and strings are forms that are ready.

    Values are written as in JSON, without quotes: so a time or a decimal is the same text in every body.
    """

    column = None

    def __init__(self, schema: Schema | None, other_columns: Sequence[str]) -> None:
        if schema is not None:
            _check_fields(schema, other_columns)
        self._json = Payloads(schema, (), other_columns=other_columns)

    def of(self, element: Any) -> bytes:
        payload = self._json.of(element)
        return _form(payload) if isinstance(element, Mapping) else payload

    def column_of(self, batch: Any) -> pa.Array:
        import pyarrow as pa

        return pa.array([_form(each) for each in self._json.many(batch)], pa.large_binary())


class RawPayloads(Payloads):
    """The bytes of the payload column and nothing else; elements without a schema are bytes or strings."""

    def __init__(self, schema: Schema | None, names: Sequence[str], other_columns: Sequence[str]) -> None:
        super().__init__(schema, names, other_columns=other_columns)
        if schema is not None and self.column is None:
            raise SchemaError(
                f"body=raw sends a column {' or '.join(map(repr, names))}, and the columns are "
                f"{', '.join(map(repr, schema.names))}; rename the one that is meant, or set body=single to send rows "
                "as JSON"
            )

    def of(self, element: Any) -> bytes:
        if self.column is None and isinstance(element, Mapping):
            raise TypeError("body=raw sends bytes and strings, and the element is a mapping; set body=single for JSON")
        return super().of(element)


def _check_fields(schema: Schema, other_columns: Sequence[str]) -> None:
    others = {name.lower() for name in other_columns}
    fields = [column for column in schema.columns if column.name.lower() not in others]
    if not fields:
        raise SchemaError(
            f"the columns {', '.join(map(repr, schema.names))} are used otherwise, and none is left for the fields of "
            "a form; add one, or set body=raw"
        )
    for column in fields:
        if column.type.startswith(_NESTED):
            raise SchemaError(
                f"column {column.name!r} is of type {column.type}; a field of a form holds one value: cast it to "
                "string with to_json, or drop it"
            )


def _form(row: bytes) -> bytes:
    """The fields of a JSON object as a form; numbers with the digits that they have there."""
    fields = json.loads(row, parse_int=str, parse_float=str)
    return urlencode([(name, _field(name, value)) for name, value in fields.items()]).encode()


def _field(name: str, value: Any) -> str:
    if isinstance(value, dict | list):
        raise ValueError(
            f"{name!r} is {'an object' if isinstance(value, dict) else 'a list'}; a field of a form holds one value: "
            "write it as a string of JSON"
        )
    return value if isinstance(value, str) else json.dumps(value)
