"""JSON of whole Arrow columns: every row of a batch at once, and no Python object for a value.

Each function makes the JSON of a column's values as a large_string column that is null where the value is null. They
are the JSON values that :mod:`asyncsink.json_text` writes, though a float may be spelt otherwise (``0.00001`` for
``1e-05``). The types tell more here: a map is an object, even an empty one, and a float32 has no more digits than it
needs.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow.normalise import normalise
from asyncsink.calendar_text import day_text, moment_text

_TEXT = pa.large_string()
_SPECIAL = r'["\\\x00-\x1f]'


def rows_as_json(batch: pa.RecordBatch) -> list[bytes]:
    """Each row as one line of JSON in UTF-8, its null fields left out; raises as :func:`json_column` does."""
    return json_column(batch).to_pylist()  # type: ignore[no-any-return]


def json_column(batch: pa.RecordBatch) -> Any:
    """The lines of :func:`rows_as_json` as a large_binary column without nulls.

    :raises TypeError: a column's type has no form in JSON
    :raises ValueError: a value is none of its type; names column and row
    """
    plain = normalise(batch)
    try:
        rows = _object(plain.schema.names, plain.columns, plain.num_rows)
    except ValueError as error:
        raise _located(plain, error) from error
    return rows.cast(pa.large_binary())


def payload_column(batch: pa.RecordBatch, column: str) -> Any:
    """The values of a string or binary column as large_binary; strings in valid UTF-8."""
    values = normalise(batch).column(column)
    return (valid_text(values) if _is_string(values.type) else values).cast(pa.large_binary())


def valid_text(values: Any) -> Any:
    """The strings of a column as large_string, U+FFFD for bytes that are no UTF-8: Spark's own may hold any bytes."""
    text = values.cast(_TEXT)
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        found = text.cast(pa.large_binary()).to_pylist()
        return pa.array([None if value is None else value.decode(errors="replace") for value in found], _TEXT)
    return text


def _located(batch: pa.RecordBatch, error: ValueError) -> ValueError:
    """What to raise for an `error` somewhere in a batch; it is slow, and looks until it finds the value."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for row in range(len(column)):
            try:
                _json(column.slice(row, 1))
            except ValueError as found:
                return ValueError(f"column {name!r} of row {row} of {len(column)}: {found}")
    return error


def _json(values: Any) -> Any:
    text, quote = _bare(values)
    return pc.binary_join_element_wise(_text(quote), text, _text(quote), _text("")) if quote else text


def _bare(values: Any) -> tuple[Any, str]:
    """The JSON of a column's values without the quotes around each, and the quote: a join puts it there for nothing."""
    kind = values.type
    for matches, encode in _QUOTED:
        if matches(kind):
            return encode(values), '"'
    for matches, encode in _UNQUOTED:
        if matches(kind):
            return encode(values), ""
    raise TypeError(f"a column of type {kind} has no form in JSON; cast it to a string")


def _object(names: list[str], columns: list[Any], count: int) -> Any:
    """One join for all: a third of the time went into columns that held nothing but a name more than their values."""
    parts: list[Any] = []
    constant, comma, may_begin_with_comma = "{", "", False
    for name, column in zip(names, columns, strict=True):
        if pa.types.is_null(column.type):
            continue
        text, quote = _bare(column)
        label = f"{json.dumps(name, ensure_ascii=False)}:{quote}"
        if text.null_count:
            # A null field is null as a whole, name and comma included, and the join leaves it out.
            may_begin_with_comma = may_begin_with_comma or not comma
            field = pc.binary_join_element_wise(_text(f",{label}"), text, _text(quote), _text(""))
            parts += [_text(constant), field]
            constant = ""
        else:
            parts += [_text(f"{constant}{comma}{label}"), text]
            constant = quote
        comma = ","
    if not parts:
        return pa.array(["{}"] * count, _TEXT)
    # With commas by the join itself Arrow would lose rows whose fields are all null.
    joined = pc.binary_join_element_wise(*parts, _text(constant + "}"), _text(""), null_handling="skip")
    return pc.replace_substring(joined, "{,", "{", max_replacements=1) if may_begin_with_comma else joined


def _struct(values: Any) -> Any:
    names = [values.type.field(index).name for index in range(values.type.num_fields)]
    return _where_valid(values, _object(names, values.flatten(), len(values)))


def _list(values: Any) -> Any:
    offsets, start, count = _span(values)
    items = pc.fill_null(_json(values.values.slice(start, count)), "null")
    return _enclosed(values, offsets, items, "[", "]")


def _map(values: Any) -> Any:
    offsets, start, count = _span(values)
    keys = _json(values.keys.slice(start, count))
    if not _is_string(values.type.key_type):
        quoted = pc.starts_with(keys, '"')
        keys = pc.if_else(quoted, keys, _quoted(keys))
    items = pc.fill_null(_json(values.items.slice(start, count)), "null")
    return _enclosed(values, offsets, pc.binary_join_element_wise(keys, items, _text(":")), "{", "}")


def _span(values: Any) -> tuple[Any, int, int]:
    """Offsets from 0 of a list or map, and where its items begin in the whole buffer and how many they are.

    A slice shares its parent's buffers: without this a single row would cost as much as all of them.
    """
    if not len(values):
        return pa.array([0], values.offsets.type), 0, 0
    start, stop = values.offsets[0], values.offsets[-1]
    return pc.subtract(values.offsets, start), start.as_py(), stop.as_py() - start.as_py()


def _enclosed(values: Any, offsets: Any, items: Any, left: str, right: str) -> Any:
    kind = pa.ListArray if offsets.type == pa.int32() else pa.LargeListArray
    joined = pc.binary_join(kind.from_arrays(offsets, items), _text(","))
    return _where_valid(values, pc.binary_join_element_wise(_text(left), joined, _text(right), _text("")))


def _fixed_size_list(values: Any) -> Any:
    return _list(values.cast(pa.large_list(values.type.value_type)))


def _string(values: Any) -> Any:
    text = valid_text(values)
    if pc.any(pc.match_substring_regex(text, _SPECIAL)).as_py():
        text = _escaped(text)
    return text


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
    try:
        text = values.cast(pa.timestamp("us")).cast(_TEXT)
    except pa.ArrowInvalid:
        # Nanoseconds, or seconds beyond what can be counted in microseconds.
        text = _moments(values)
    else:
        text = _moments(values) if _is_beyond(text) else pc.replace_substring(text, " ", "T", max_replacements=1)
    text = pc.replace_substring_regex(text, r"(\.[0-9]{3})000$", r"\1")
    return text if values.type.tz is None else pc.binary_join_element_wise(text, _text("Z"), _text(""))


def _moments(values: Any) -> Any:
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[values.type.unit]
    counts = values.cast(pa.int64()).to_pylist()
    return pa.array([None if count is None else moment_text(count, per_second) for count in counts], _TEXT)


def _is_beyond(text: Any) -> bool:
    """Whether Arrow has written "<value out of range ...>", or a year of five digits without its sign."""
    return bool(pc.any(pc.match_substring_regex(text, "^(<|[0-9]{5})")).as_py())


def _binary(values: Any) -> Any:
    encoded = [None if value is None else b64encode(value).decode() for value in values.to_pylist()]
    return pa.array(encoded, _TEXT)


def _time(values: Any) -> Any:
    text = values.cast(pa.time64("us")).cast(_TEXT)
    if _is_beyond(text):
        raise ValueError("the value is no time of day: it is not within 24 hours from midnight")
    return pc.replace_substring_regex(text, r"\.000000$", "")


def _literal(values: Any) -> Any:
    return values.cast(_TEXT)


def _decimal(values: Any) -> Any:
    text = values.cast(_TEXT)
    if pc.any(pc.match_substring(text, "E")).as_py():
        return pa.array([None if value is None else format(value, "f") for value in values.to_pylist()], _TEXT)
    return text


def _date(values: Any) -> Any:
    text = values.cast(_TEXT)
    if _is_beyond(text):
        days = values.cast(pa.date32()).cast(pa.int32()).to_pylist()
        text = pa.array([None if day is None else day_text(day) for day in days], _TEXT)
    return text


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


_Encoders = list[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]]
_QUOTED: _Encoders = [
    (_is_string, _string),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_date, _date),
    (pa.types.is_time, _time),
    (_is_binary, _binary),
]
"""The types whose values are strings in JSON, and how to make what stands between the quotes."""
_UNQUOTED: _Encoders = [
    (pa.types.is_integer, _literal),
    (pa.types.is_boolean, _literal),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_floating, _float),
    (pa.types.is_struct, _struct),
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_large_list, _list),
    (pa.types.is_fixed_size_list, _fixed_size_list),
    (pa.types.is_null, _null),
]
