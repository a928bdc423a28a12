"""From rows, payloads and ready entries to records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from asyncsink.context import Column, InitContext, Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import SchemaError
from asyncsink.payloads import Payloads
from asyncsink_kinesis.entry import KinesisEntry, checked
from asyncsink_kinesis.options import KinesisOptions
from asyncsink_kinesis.partition_keys import KeyMaker, check_hash_key, check_key, key_text

if TYPE_CHECKING:
    import pyarrow as pa

    from asyncsink.arrow import ArrowBlock

PAYLOAD_COLUMNS = ("data", "value")
"""A column of one of these names is the payload; the first one wins."""
KEY_COLUMN = "partitionKey"
HASH_KEY_COLUMN = "explicitHashKey"

_KEY_TYPES = frozenset(
    {"string", "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "date"}
)


RoutesOf = Callable[[Any, Any], tuple[Sequence[Hashable | None], Any]]
"""From columns of partition keys and explicit hash keys to the routes of the records, as a block takes them."""


class KinesisConverter(ElementConverter[Any, KinesisEntry]):
    """Makes records of rows, payloads and mappings; a :class:`KinesisEntry` is taken as it is.

    Rows with a schema: the column ``data`` or ``value``, string or binary, is the payload, else the row becomes a JSON
    object; ``partitionKey`` and ``explicitHashKey`` are what they say and no part of it. Elements without a schema:
    bytes and strings are payloads; a mapping becomes a JSON object, without these two.

    :param routes_of: the routes of many records at once, for a writer
    :raises SchemaError: a column is missing, of a type that cannot be sent, or would not be sent
    """

    def __init__(self, schema: Schema | None, options: KinesisOptions, routes_of: RoutesOf | None = None) -> None:
        self._routes_of, self._frame_bytes = routes_of, options.frame_size_in_bytes
        self._key = _named(schema, KEY_COLUMN)
        self._hash_key = _named(schema, HASH_KEY_COLUMN)
        self._made = KeyMaker(options.partition_key, _key_columns(schema, options), options.partition_key_delimiter)
        used = [name for name in (self._key, self._hash_key) if name is not None]
        if schema is not None:
            _check_columns(schema, self._key, self._hash_key, options)
            used += _keys_beside_payload(schema, self._made.columns)
        self._payloads = Payloads(schema, PAYLOAD_COLUMNS, other_columns=used)

    def open(self, context: InitContext) -> None:
        self._made.open(context)

    def apply(self, element: Any, context: WriteContext) -> KinesisEntry:
        """Convert one element.

        :raises TypeError: it is none that can be converted, or a value has no form in JSON
        :raises ValueError: payload or key is null, or a key breaks its rule
        """
        if isinstance(element, KinesisEntry):
            return checked(element)
        data = self._payloads.of(element)
        key, hash_key = None, None
        if isinstance(element, Mapping):
            if self._key in element:
                key = check_key(key_text(element[self._key], f"column {self._key!r}"), f"column {self._key!r}")
            if (given := element.get(self._hash_key)) is not None:
                hash_key = check_hash_key(given, f"column {self._hash_key!r}")
        return KinesisEntry(data, self._made.of(element, context.sequence) if key is None else key, hash_key)

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> ArrowBlock[KinesisEntry]:
        """Convert all rows of an Arrow batch at once; raises as :meth:`apply` does, for the batch as a whole."""
        from asyncsink_kinesis import columns

        data = self._payloads.column_of(batch)
        hash_keys = None
        if self._hash_key is not None and self._hash_key in batch.schema.names:
            hash_keys = columns.hash_keys_of_column(batch, self._hash_key)
        keys = self._keys(batch, context.sequence)
        routes = None if self._routes_of is None else self._routes_of(keys, hash_keys)
        return columns.records_block(data, keys, hash_keys, routes, frame_bytes=self._frame_bytes)

    def _keys(self, batch: pa.RecordBatch, sequence: int) -> Any:
        from asyncsink_kinesis import columns

        made, name = self._made, self._key
        if name is not None and name in batch.schema.names:
            return columns.keys_of_column(batch, name)
        if made.columns:
            return columns.joined_keys(batch, made.columns, made.delimiter, made.described)
        if made.kind == "random":
            return columns.random_keys(made.prefix, sequence, batch.num_rows)
        return columns.fixed_keys(made.fixed, batch.num_rows)


def _named(schema: Schema | None, name: str) -> str | None:
    """The column as the rows spell it; without a schema as the connector does."""
    if schema is None:
        return name
    found = schema.find(name)
    return None if found is None else found.name


def _key_columns(schema: Schema | None, options: KinesisOptions) -> tuple[str, ...]:
    if schema is None:
        return options.key_columns
    return tuple(_key_column(schema, name, options).name for name in options.key_columns)


def _keys_beside_payload(schema: Schema, key_columns: tuple[str, ...]) -> list[str]:
    """The columns of the key that are no part of what is sent: in JSON they are."""
    payload = next((found.name for name in PAYLOAD_COLUMNS if (found := schema.find(name))), None)
    return [] if payload is None else [name for name in key_columns if name != payload]


def _key_column(schema: Schema, name: str, options: KinesisOptions) -> Column:
    found = schema.find(name)
    if found is None:
        raise SchemaError(
            f"option 'partitionKey' = {options.partition_key!r} names the column {name!r}, and there is none; the "
            f"columns are {', '.join(schema.names)}; random and fixed need no column"
        )
    return found


def _check_columns(schema: Schema, key: str | None, hash_key: str | None, options: KinesisOptions) -> None:
    if key is not None and options.key_columns:
        raise SchemaError(
            f"column {key!r} holds partition keys, and option 'partitionKey' = {options.partition_key!r} makes others; "
            "drop one of them"
        )
    for name in (key, *options.key_columns):
        column = None if name is None else schema.find(name)
        if column is not None and not _makes_key(column.type):
            raise SchemaError(
                f"column {column.name!r} is of type {column.type}; a partition key is made of strings, booleans, whole "
                "numbers, decimals and dates: cast it to string"
            )
    column = None if hash_key is None else schema.find(hash_key)
    if column is not None and not _makes_hash_key(column.type):
        raise SchemaError(
            f"column {column.name!r} is of type {column.type}; an explicit hash key is a string of decimal digits or a "
            "whole number: cast it to string"
        )


def _makes_key(kind: str) -> bool:
    return kind in _KEY_TYPES or kind.startswith(("char(", "varchar(", "decimal("))


def _makes_hash_key(kind: str) -> bool:
    whole = kind.startswith("decimal(") and kind.endswith(",0)")
    return whole or (_makes_key(kind) and kind not in ("boolean", "date") and not kind.startswith("decimal("))
