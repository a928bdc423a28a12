"""The columns that a record is made of, as Spark's own Kafka sink takes them, and their check against a schema."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from asyncsink.errors import SchemaError

if TYPE_CHECKING:
    from asyncsink.context import Schema
    from asyncsink_kafka.options import KafkaOptions


class ColumnType(NamedTuple):
    """What a column may be: a pattern of types in Spark's short form, what to call them, and a cast that makes one."""

    pattern: re.Pattern[str]
    wanted: str
    cast: str


def _type(pattern: str, wanted: str, cast: str) -> ColumnType:
    return ColumnType(re.compile(pattern, re.IGNORECASE), wanted, cast)


_TEXT: Final = r"string|char\(\d+\)|varchar\(\d+\)"
_BYTES: Final = _type(rf"{_TEXT}|binary", "string or binary", "CAST({0} AS STRING) AS {0}")

COLUMN_TYPES: Final[Mapping[str, ColumnType]] = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": _type(_TEXT, "string", "CAST({0} AS STRING) AS {0}"),
    "headers": _type(
        rf"array<struct<`?key`?:({_TEXT}),`?value`?:({_TEXT}|binary)>>|map<({_TEXT}),({_TEXT}|binary)>",
        "array<struct<key:string,value:binary>>, map<string,binary> or map<string,string>",
        "CAST({0} AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS {0}",
    ),
    "partition": _type("int|integer|smallint|short|tinyint|byte", "int", "CAST({0} AS INT) AS {0}"),
    "timestamp": _type(
        "timestamp|timestamp_ltz|timestamp_ntz|bigint|long",
        "timestamp, timestamp_ntz or bigint in milliseconds",
        "CAST({0} AS TIMESTAMP) AS {0}",
    ),
}
"""Each column that means something, by its name; any other is left out, as Spark's sink does."""


def used_columns(options: KafkaOptions) -> frozenset[str]:
    """The names of the columns that are looked at: an option may take the place of one."""
    unused = {name for name, used in (("topic", not options.topic), ("headers", _headers(options))) if not used}
    return frozenset(COLUMN_TYPES) - unused


def _headers(options: KafkaOptions) -> bool:
    return options.include_headers is not False


def check_columns(schema: Schema, options: KafkaOptions) -> None:
    """Check that rows of this schema can become records.

    :raises SchemaError: there is no column ``value``, the topic comes from nowhere, or a column has the wrong type
    """
    used = used_columns(options)
    check_value(schema)
    if "topic" in used and schema.find("topic") is None:
        raise SchemaError(
            "the rows have no topic: set the option 'topic', or add a column 'topic' with the topic of each row"
        )
    check_types(schema, used)


def check_value(schema: Schema) -> None:
    """:raises SchemaError: there is no column ``value``"""
    if schema.find("value") is None:
        raise SchemaError(
            f"there is no column 'value', only {', '.join(map(repr, schema.names)) or 'none at all'}; make one, for "
            'example of the whole row: selectExpr("to_json(struct(*)) AS value")'
        )


def check_types(schema: Schema, used: Collection[str]) -> None:
    """:raises SchemaError: one of the columns that are looked at has the wrong type"""
    for name, wanted in COLUMN_TYPES.items():
        column = schema.find(name) if name in used else None
        if column is not None and not wanted.pattern.fullmatch(column.type):
            raise wrong_type(column.name, column.type, wanted)


def wrong_type(name: str, found: str, wanted: ColumnType) -> SchemaError:
    """The error of a column whose type is another one."""
    return SchemaError(
        f"column {name!r} is of type {found}; it must be {wanted.wanted}: write for example "
        f'selectExpr("{wanted.cast.format(name)}", ...), or drop the column'
    )
