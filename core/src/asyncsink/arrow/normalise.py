"""Arrow batches with plain columns, whatever encoding they came in."""

from __future__ import annotations

import pyarrow as pa


def normalise(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without views and dictionaries, at any depth; large types stay. Free where there are none.

    Offsets, encoders and ``to_pylist`` then meet one form of each type: ``string_view`` and ``dictionary<string>``
    become ``string``, ``binary_view`` becomes ``binary``.
    """
    fields = [pa.field(each.name, plain_type(each.type), each.nullable, each.metadata) for each in batch.schema]
    if all(field.type == each.type for field, each in zip(fields, batch.schema, strict=True)):
        return batch
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """`kind` without views and dictionaries."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if _is(kind, "is_string_view"):
        return pa.string()
    if _is(kind, "is_binary_view"):
        return pa.binary()
    if pa.types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field), kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(index)) for index in range(kind.num_fields)])
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return kind


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(plain_type(field.type))


def _is(kind: pa.DataType, check: str) -> bool:
    """Whether `kind` passes a check of ``pyarrow.types`` that older releases do not have, nor the type itself."""
    known = getattr(pa.types, check, None)
    return known is not None and bool(known(kind))
