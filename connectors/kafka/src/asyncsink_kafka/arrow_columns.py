"""Records of Arrow batches: each column by itself, and no Python object for a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow import normalise
from asyncsink.arrow.json_rows import valid_text
from asyncsink.errors import SchemaError
from asyncsink_kafka.columns import COLUMN_TYPES, wrong_type
from asyncsink_kafka.records import Records

_PER_MS: Final = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}


def records_of(batch: pa.RecordBatch, used: Collection[str], first_sequence: int) -> Records:
    """The rows of a batch as records.

    :param used: the columns to look at, of those that mean something; names compare without case
    :param first_sequence: the first row's position among the elements of its writer
    :raises SchemaError: there is no column ``value``, or a column has a type that cannot become its own
    """
    places = _places(batch.schema.names, used)
    if "value" not in places:
        raise SchemaError(f"there is no column 'value' in a batch of {', '.join(batch.schema.names) or 'no columns'}")
    chosen = normalise(batch.select([*places.values()]))
    columns = {
        name: _converted(name, field.name, column)
        for name, field, column in zip(places, chosen.schema, chosen.columns, strict=True)
    }
    sequence = np.arange(first_sequence, first_sequence + batch.num_rows, dtype=np.int64)
    return Records(sequence=sequence, **columns)


def _places(names: list[str], used: Collection[str]) -> dict[str, int]:
    """Where each column is; the first where several have the same name but for its case."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if name.lower() in used:
            places.setdefault(name.lower(), place)
    return places


def _converted(name: str, given: str, column: pa.Array) -> pa.Array:
    try:
        return _CONVERTERS[name](column)
    except pa.ArrowNotImplementedError as error:
        raise wrong_type(given, str(column.type), COLUMN_TYPES[name]) from error


def _bytes(column: pa.Array) -> pa.Array:
    """Binary, large if it was; strings share their bytes, valid UTF-8 or not."""
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column
    if pa.types.is_string(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_null(kind):
        return column.cast(pa.binary())
    if pa.types.is_large_string(kind):
        return column.cast(pa.large_binary())
    raise _unlike(column)


def _text(column: pa.Array) -> pa.Array:
    """Strings in valid UTF-8; as Java does, U+FFFD takes the place of what is none: Spark's may hold any bytes."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type)):
        raise _unlike(column)
    return valid_text(column).cast(pa.string())


def _partition(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.int32())
    raise _unlike(column)


def _timestamp(column: pa.Array) -> pa.Array:
    """Milliseconds since 1970; of a timestamp without a zone as if it were in UTC, and of whole numbers as they are."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return column.cast(pa.int64())
    if not pa.types.is_timestamp(kind):
        raise _unlike(column)
    if kind.unit == "s":
        return column.cast(pa.timestamp("ms", kind.tz)).cast(pa.int64())
    counts = column.cast(pa.int64())
    per_ms = _PER_MS[kind.unit]
    if per_ms == 1:
        return counts
    # NumPy rounds down, as Java does; Arrow would make 0 of the last millisecond before 1970.
    numbers = pc.fill_null(counts, 0).to_numpy(zero_copy_only=False) // per_ms
    return pa.array(numbers, mask=column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None)


def _headers(column: pa.Array) -> pa.Array:
    """A list of struct<key: string, value: binary>; a map has the same layout, and shares its memory."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.list_(_HEADER))
    if pa.types.is_map(kind):
        keys, values, outer = column.keys, column.items, pa.list_
        nulls = None
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        structs = column.values
        keys, values = _header_fields(structs)
        outer = pa.list_ if pa.types.is_list(kind) else pa.large_list
        nulls = structs.is_null() if structs.null_count else None
    else:
        raise _unlike(column)
    if not len(keys):
        keys, values = keys.cast(pa.string()), values.cast(pa.binary())
    headers = pa.StructArray.from_arrays([_text(keys), _bytes(values)], ["key", "value"], mask=nulls)
    validity, offsets = column.buffers()[:2]
    return pa.Array.from_buffers(
        outer(headers.type), len(column), [validity, offsets], column.null_count, column.offset, [headers]
    )


def _header_fields(structs: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The fields key and value, whichever comes first; their names compare without case."""
    kind = structs.type
    names = [field.name.lower() for field in kind] if pa.types.is_struct(kind) else []
    if sorted(names) != ["key", "value"]:
        raise _unlike(structs)
    return structs.field(names.index("key")), structs.field(names.index("value"))


_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])


def _unlike(column: pa.Array) -> pa.ArrowNotImplementedError:
    return pa.ArrowNotImplementedError(f"a column of type {column.type} is none of these")


_CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "value": _bytes,
    "key": _bytes,
    "topic": _text,
    "headers": _headers,
    "partition": _partition,
    "timestamp": _timestamp,
}
