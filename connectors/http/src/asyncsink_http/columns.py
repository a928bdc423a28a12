"""JSON of whole Arrow columns: every row of a batch at once, and no Python object for a value.

Each function makes the JSON of a column's values as a large_string column that is null where the value is null. The
values come out as :mod:`asyncsink_http.json_text` writes them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow import normalise

_TEXT = pa.large_string()
_SPECIAL = r'["\\\x00-\x1f]'


def rows_as_json(batch: pa.RecordBatch) -> list[bytes]:
    """Each row as one line of JSON in UTF-8, its null fields left out.

    :raises TypeError: a column's type has no form in JSON
    """
    plain = normalise(batch)
    rows = _object(plain.schema.names, plain.columns, plain.num_rows)
    return rows.cast(pa.large_binary()).to_pylist()  # type: ignore[no-any-return]


def payloads(batch: pa.RecordBatch, column: str) -> list[bytes | None]:
    """The values of a string or binary column as bytes."""
    values = normalise(batch).column(column)
    return values.cast(pa.large_binary()).to_pylist()  # type: ignore[no-any-return]


def _json(values: Any) -> Any:
    kind = values.type
    for matches, encode in _ENCODERS:
        if matches(kind):
            return encode(values)
    raise TypeError(f"a column of type {kind} has no form in JSON; cast it to a string")


def _object(names: list[str], columns: list[Any], count: int) -> Any:
    fields = [
        # A null field is null as a whole, name and comma included, and the join leaves it out.
        pc.binary_join_element_wise(_text(f",{json.dumps(name, ensure_ascii=False)}:"), _json(column), _text(""))
        for name, column in zip(names, columns, strict=True)
        if not pa.types.is_null(column.type)
    ]
    if not fields:
        return pa.array(["{}"] * count, _TEXT)
    # With commas by the join itself Arrow would lose rows whose fields are all null.
    joined = pc.binary_join_element_wise(_text("{"), *fields, _text("}"), _text(""), null_handling="skip")
    return pc.replace_substring(joined, "{,", "{", max_replacements=1)


def _struct(values: Any) -> Any:
    names = [values.type.field(index).name for index in range(values.type.num_fields)]
    return _where_valid(values, _object(names, values.flatten(), len(values)))


def _list(values: Any) -> Any:
    items = pc.fill_null(_json(values.values), "null")
    return _enclosed(values, values.offsets, items, "[", "]")


def _map(values: Any) -> Any:
    # `keys` and `items` are those of the whole buffer, as `offsets` expect them even where the map is a slice.
    keys = _json(values.keys)
    if not _is_string(values.type.key_type):
        quoted = pc.starts_with(keys, '"')
        keys = pc.if_else(quoted, keys, _quoted(keys))
    items = pc.fill_null(_json(values.items), "null")
    return _enclosed(values, values.offsets, pc.binary_join_element_wise(keys, items, _text(":")), "{", "}")


def _enclosed(values: Any, offsets: Any, items: Any, left: str, right: str) -> Any:
    kind = pa.ListArray if offsets.type == pa.int32() else pa.LargeListArray
    joined = pc.binary_join(kind.from_arrays(offsets, items), _text(","))
    return _where_valid(values, pc.binary_join_element_wise(_text(left), joined, _text(right), _text("")))


def _fixed_size_list(values: Any) -> Any:
    return _list(values.cast(pa.large_list(values.type.value_type)))


def _string(values: Any) -> Any:
    text = values.cast(_TEXT)
    if pc.any(pc.match_substring_regex(text, _SPECIAL)).as_py():
        text = _escaped(text)
    return _quoted(text)


def _escaped(text: Any) -> Any:
    for found, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = pc.replace_substring(text, found, escape)
    if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]")).as_py():
        for code in range(0x20):
            text = pc.replace_substring(text, chr(code), json.dumps(chr(code))[1:-1])
    return text


def _float(values: Any) -> Any:
    text = values.cast(_TEXT)
    # Arrow writes 1.0 as 1: a reader without a schema would take it for a whole number.
    whole = pc.match_substring_regex(text, r"^-?[0-9]+$")
    text = pc.if_else(whole, pc.binary_join_element_wise(text, _text("0"), _text(".")), text)
    if pc.all(pc.is_finite(values)).as_py() is not False:
        return text
    for number, name in (("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity"), ("-nan", "NaN")):
        text = pc.if_else(pc.equal(text, number), _text(f'"{name}"'), text)
    return text


def _timestamp(values: Any) -> Any:
    # Without its zone a timestamp is the same instant in UTC; with six digits nothing is cut off.
    text = values.cast(pa.timestamp("us")).cast(_TEXT)
    text = pc.replace_substring(text, " ", "T", max_replacements=1)
    text = pc.replace_substring_regex(text, r"(\.[0-9]{3})000$", r"\1")
    return _quoted(text if values.type.tz is None else pc.binary_join_element_wise(text, _text("Z"), _text("")))


def _binary(values: Any) -> Any:
    encoded = [None if value is None else b64encode(value).decode() for value in values.to_pylist()]
    return _quoted(pa.array(encoded, _TEXT))


def _time(values: Any) -> Any:
    text = values.cast(pa.time64("us")).cast(_TEXT)
    return _quoted(pc.replace_substring_regex(text, r"\.000000$", ""))


def _literal(values: Any) -> Any:
    return values.cast(_TEXT)


def _date(values: Any) -> Any:
    return _quoted(values.cast(_TEXT))


def _null(values: Any) -> Any:
    return pa.nulls(len(values), _TEXT)


def _quoted(text: Any) -> Any:
    return pc.binary_join_element_wise(_text('"'), text, _text('"'), _text(""))


def _where_valid(values: Any, text: Any) -> Any:
    return pc.if_else(values.is_valid(), text, pa.scalar(None, _TEXT)) if values.null_count else text


def _text(value: str) -> Any:
    return pa.scalar(value, _TEXT)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


_ENCODERS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]] = [
    (_is_string, _string),
    (pa.types.is_integer, _literal),
    (pa.types.is_boolean, _literal),
    (pa.types.is_decimal, _literal),
    (pa.types.is_floating, _float),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_date, _date),
    (pa.types.is_time, _time),
    (_is_binary, _binary),
    (pa.types.is_struct, _struct),
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_large_list, _list),
    (pa.types.is_fixed_size_list, _fixed_size_list),
    (pa.types.is_null, _null),
]
