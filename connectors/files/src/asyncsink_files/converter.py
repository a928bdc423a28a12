"""From elements to rows, and which columns files can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from asyncsink.context import Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import SchemaError
from asyncsink.json_schema import check_json_types

# Names of a struct's fields, quoted or not, may be called as types are.
_FIELD_NAME: Final = re.compile(r"`(?:[^`]|``)*`|[^<>,:()`]+(?=:)")
_NOT_IN_PARQUET: Final = re.compile(r"\b(interval|variant|geography|geometry|void|null)\b")


class FilesConverter(ElementConverter[Any, Mapping[str, Any]]):
    """Takes rows as mappings, as they are.

    :param schema: the columns of the rows to come, which are checked; None where elements have no schema
    :raises SchemaError: a file of this format cannot hold a column, or there is none
    """

    def __init__(self, schema: Schema | None, file_format: str) -> None:
        if schema is None:
            return
        if not schema.columns:
            raise SchemaError("the rows have no columns, so that there is nothing to write; select some")
        if file_format == "json":
            check_json_types(schema)
        else:
            _check_parquet_types(schema)

    def apply(self, element: Any, context: WriteContext) -> Mapping[str, Any]:
        if not isinstance(element, Mapping):
            raise TypeError(f"an element of type {type(element).__name__} is no row; give a mapping by column")
        return element


def _check_parquet_types(schema: Schema) -> None:
    for column in schema.columns:
        found = _NOT_IN_PARQUET.search(_FIELD_NAME.sub("_", column.type))
        if found is not None:
            raise SchemaError(
                f"column {column.name!r} is of type {column.type}; {found[0]} has no form in Parquet that Spark would "
                "read again: cast it to string, or drop it"
            )
