"""Which columns are refused before any row is read, since they have no form in JSON."""

from __future__ import annotations

import pytest

from asyncsink import Column, Schema, SchemaError
from asyncsink.json_schema import check_json_types


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"a": "interval day to second"}, "column 'a' is of type interval day to second; interval day to second has"),
        ({"a": "interval year"}, "interval year has no form in JSON: cast it to string, or drop it"),
        ({"a": "variant"}, "column 'a' is of type variant; variant has no form in JSON"),
        ({"a": "array<struct<x:int,v:variant>>"}, "variant has no form in JSON"),
        ({"a": "map<string,interval>"}, "interval has no form in JSON"),
        ({"a": "map<binary,int>"}, "the key of a map must be a string, number, boolean, date or timestamp"),
        ({"a": "array<map<struct<x:int>,int>>"}, "the key of a map must be"),
        ({"id": "int", "b": "interval"}, "column 'b' is of type interval"),
    ],
)
def test_a_column_without_a_form_in_json_is_refused_by_name(columns: dict[str, str], sentence: str) -> None:
    with pytest.raises(SchemaError) as raised:
        check_json_types(schema_of(**columns))
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    "kind",
    [
        "tinyint",
        "decimal(38,18)",
        "timestamp_ntz",
        "time(6)",
        "char(3)",
        "void",
        "map<string,array<struct<interval:int,variant:map<date,binary>>>>",
        "struct<a b:double,c:struct<d:timestamp>>",
        "map<decimal(10,2),string>",
        "struct<`a,b`:int,`f(x)<y>:interval`:double,`a``,b`:string>",
    ],
)
def test_all_other_types_are_taken(kind: str) -> None:
    check_json_types(schema_of(a=kind))
