"""From rows to the bytes of a record: a column that is the payload, or the whole row as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asyncsink.context import Schema
from asyncsink.errors import SchemaError
from asyncsink.json_schema import check_json_types
from asyncsink.json_text import encode_row

_NOTHING_TO_SEND = ", so there is nothing to send; filter such rows out"


class Payloads:
    """Makes the payloads of records or requests, for connectors that send bytes.

    Rows with a schema: a column of one of the names, string or binary, is the payload as it is; else the row becomes a
    JSON object. Elements without a schema: bytes and strings are payloads as they are, a mapping becomes a JSON object.

    :param schema: the columns of the rows to come; None where elements have no schema
    :param names: of the column that is the payload if it is there; the first one wins
    :param other_columns: columns that are used otherwise, such as for keys, and are no part of the JSON; compared
        without case where there is a schema
    :raises SchemaError: the payload column has another type, a column would not be sent or has no form in JSON
    """

    def __init__(self, schema: Schema | None, names: Sequence[str], *, other_columns: Sequence[str] = ()) -> None:
        self.column: str | None = None
        """The name of the column that is the payload; None where the whole row is."""
        self._others = frozenset(other_columns)
        if schema is not None:
            found = (schema.find(name) for name in other_columns)
            self._others = frozenset(column.name for column in found if column is not None)
            self.column = _payload_column(schema, names, self._others)
            if self.column is None:
                _check_json(schema, names, self._others)

    def of(self, element: Any) -> bytes:
        """The payload of one row or element.

        :raises TypeError: it is none, or one of its values has no form in JSON
        :raises ValueError: its payload is null
        """
        if isinstance(element, Mapping):
            if self.column is not None:
                return _given(element[self.column], f"column {self.column!r} is null")
            # Most connectors use no column otherwise, and need no copy of each row.
            return encode_row(self._without_others(element) if self._others else element)
        if element is None or isinstance(element, str | bytes | bytearray | memoryview):
            return _given(element, "the payload is None")
        raise TypeError(
            f"an element of type {type(element).__name__} is neither a mapping, which becomes a JSON object, nor a "
            "payload as bytes or str"
        )

    def _without_others(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if name not in self._others}

    def many(self, batch: Any) -> list[bytes]:
        """The payloads of all rows of a ``pyarrow.RecordBatch`` at once.

        :raises ValueError: one is null, or a value is none of its type; names column and row
        """
        return self.column_of(batch).to_pylist()  # type: ignore[no-any-return]

    def column_of(self, batch: Any) -> Any:
        """The same payloads as a large_binary column without nulls, for an encoder that works on columns.

        No Python object is made for a row. Raises as :meth:`many` does.
        """
        from asyncsink.arrow.json_rows import json_column, payload_column

        if self.column is None:
            return json_column(batch.select([name for name in batch.schema.names if name not in self._others]))
        found = payload_column(batch, self.column)
        if found.null_count:
            row = found.is_null().index(True).as_py()
            raise ValueError(f"column {self.column!r} of row {row} of {len(found)} is null{_NOTHING_TO_SEND}")
        return found


def _given(value: Any, missing: str) -> bytes:
    if value is None:
        raise ValueError(missing + _NOTHING_TO_SEND)
    return value.encode(errors="replace") if isinstance(value, str) else bytes(value)


def _payload_column(schema: Schema, names: Sequence[str], others: frozenset[str]) -> str | None:
    found = (schema.find(name) for name in names)
    column = next((each for each in found if each is not None and each.name not in others), None)
    if column is None:
        return None
    if column.type not in ("string", "binary") and not column.type.startswith(("char(", "varchar(")):
        raise SchemaError(
            f"column {column.name!r} is of type {column.type}; a column of that name is the payload and must "
            "be string or binary: cast it, or rename it to send the whole row as JSON"
        )
    unsent = [name for name in schema.names if name != column.name and name not in others]
    if unsent:
        raise SchemaError(
            f"column {column.name!r} is the payload, so {', '.join(map(repr, unsent))} would not be sent; drop "
            f"what is not to be sent, or rename {column.name!r} to send the whole row as JSON"
        )
    return column.name


def _check_json(schema: Schema, names: Sequence[str], others: frozenset[str]) -> None:
    rest = tuple(column for column in schema.columns if column.name not in others)
    if not rest:
        raise SchemaError(
            f"the columns {', '.join(map(repr, schema.names))} are used otherwise, and none is left to be sent; add a "
            f"column {names[0]!r} (string or binary), or others, which become a JSON object"
        )
    check_json_types(Schema(rest))
