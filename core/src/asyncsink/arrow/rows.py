"""The rows of an Arrow batch as Python objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Each row as a dictionary by column, a map in it as a dictionary too, at any depth.

    :raises Exception: a value has no form in Python, such as a string that is no UTF-8 or a date before year 1
    """
    rows: list[dict[str, Any]] = batch.to_pylist()
    for field in batch.schema:
        convert = _converter(field.type)
        if convert is not None:
            for row in rows:
                row[field.name] = convert(row[field.name])
    return rows


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """What makes dictionaries of the maps in a value; None where there are none.

    By hand, since ``to_pylist(maps_as_pydicts=...)`` is newer than the oldest pyarrow that asyncsink takes.
    """
    if pa.types.is_map(kind):
        return _of_map(_converter(kind.key_type) or _same, _converter(kind.item_type) or _same)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = _converter(kind.value_type)
        return None if inner is None else _of_list(inner)
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        inners = {field.name: inner for field in fields if (inner := _converter(field.type)) is not None}
        return _of_struct(inners) if inners else None
    return None


def _same(value: Any) -> Any:
    return value


def _of_map(key: Callable[[Any], Any], item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda pairs: None if pairs is None else {key(name): item(value) for name, value in pairs}


def _of_list(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: None if values is None else [inner(value) for value in values]


def _of_struct(inners: dict[str, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def convert(struct: Any) -> Any:
        return struct and {name: inners.get(name, _same)(value) for name, value in struct.items()}

    return convert
