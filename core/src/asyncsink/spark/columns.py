"""From Spark's schema to the one that sinks know."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StructType,
    UserDefinedType,
    VariantType,
    YearMonthIntervalType,
)

from asyncsink.context import Column, Schema
from asyncsink.errors import SchemaError

_REFUSED: dict[type[DataType], str] = {
    # Year-month intervals fail inside pyarrow, in the task; none of them means anything outside Spark.
    DayTimeIntervalType: "cast it to string or to a number",
    YearMonthIntervalType: "cast it to string or to a number",
    CalendarIntervalType: "cast it to string",
    # Arrives as struct<value: binary, metadata: binary>, which only Spark can read.
    VariantType: "convert it by to_json",
}


def schema_of(struct: StructType) -> Schema:
    """The columns of a DataFrame with their types in Spark's short form.

    :raises SchemaError: a column is, or holds at any depth, an interval or a VARIANT
    """
    for field in struct.fields:
        for inner in _types_in(field.dataType):
            remedy = next((remedy for refused, remedy in _REFUSED.items() if isinstance(inner, refused)), None)
            if remedy is not None:
                raise SchemaError(
                    f"column {field.name!r} is of type {field.dataType.simpleString()}; {inner.simpleString()} cannot "
                    f"be sent to a sink: {remedy}, or drop the column"
                )
    return Schema(tuple(Column(each.name, short_form(each.dataType), each.nullable) for each in struct.fields))


def short_form(kind: DataType) -> str:
    """A type in Spark's short form, whose strings have no collation and whose field names cannot be misread.

    A collation says how strings compare, which no sink does. A field's name that holds a type's punctuation is quoted
    by backticks, as in SQL.
    """
    if isinstance(kind, ArrayType):
        return f"array<{short_form(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{short_form(kind.keyType)},{short_form(kind.valueType)}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{_quoted(each.name)}:{short_form(each.dataType)}' for each in kind.fields)}>"
    return re.sub(r"(?<=[a-z)]) collate \S+$", "", kind.simpleString())


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``")) if re.search(r"[<>,:()`]", name) else name


def _types_in(kind: DataType) -> Iterator[DataType]:
    yield kind
    children: list[DataType] = []
    if isinstance(kind, ArrayType):
        children = [kind.elementType]
    elif isinstance(kind, MapType):
        children = [kind.keyType, kind.valueType]
    elif isinstance(kind, StructType):
        children = [field.dataType for field in kind.fields]
    elif isinstance(kind, UserDefinedType):
        children = [kind.sqlType()]
    for child in children:
        yield from _types_in(child)
