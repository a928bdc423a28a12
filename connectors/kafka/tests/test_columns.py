"""Which columns the converter takes: those of Spark's own Kafka sink, and a few more types."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink import Column, Schema, SchemaError
from asyncsink_kafka.converter import KafkaConverter
from asyncsink_kafka.options import KafkaOptions

HEADERS = "array<struct<key:string,value:binary>>"


def check(columns: dict[str, str], **options: Any) -> KafkaConverter:
    schema = Schema(tuple(Column(name, kind) for name, kind in columns.items()))
    return KafkaConverter(schema, KafkaOptions(bootstrap_servers="broker", **options))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        *((name, kind) for name in ("value", "key") for kind in ("string", "binary", "varchar(10)", "char(3)")),
        ("topic", "string"),
        ("headers", HEADERS),
        ("headers", "array<struct<key:string,value:string>>"),
        ("headers", "map<string,binary>"),
        ("headers", "map<string,string>"),
        ("partition", "int"),
        ("timestamp", "timestamp"),
        ("timestamp", "timestamp_ntz"),
        ("timestamp", "bigint"),
    ],
)
def test_a_column_may_have_these_types(column: str, kind: str) -> None:
    check({"value": "string", column: kind}, topic=None if column == "topic" else "t")
    check({"value": "string", column.upper(): kind}, topic=None if column == "topic" else "t")


@pytest.mark.parametrize(
    ("column", "kind", "cast"),
    [
        ("value", "int", "CAST(value AS STRING) AS value"),
        ("value", "struct<a:int>", "CAST(value AS STRING) AS value"),
        ("key", "bigint", "CAST(key AS STRING) AS key"),
        ("key", "array<string>", "string or binary"),
        ("topic", "binary", "CAST(topic AS STRING) AS topic"),
        ("headers", "string", "array<struct<key:string,value:binary>>, map<string,binary> or map<string,string>"),
        ("headers", "array<struct<name:string,value:binary>>", "AS ARRAY<STRUCT<key: STRING, value: BINARY>>"),
        ("headers", "array<struct<value:binary,key:string>>", "AS ARRAY<STRUCT<key: STRING, value: BINARY>>"),
        ("headers", "array<struct<key:binary,value:binary>>", "array<struct<key:string,value:binary>>"),
        ("headers", "map<int,string>", "map<string,string>"),
        ("partition", "bigint", "CAST(partition AS INT) AS partition"),
        ("partition", "string", "CAST(partition AS INT) AS partition"),
        ("timestamp", "string", "CAST(timestamp AS TIMESTAMP) AS timestamp"),
        ("timestamp", "date", "timestamp, timestamp_ntz or bigint in milliseconds"),
        ("timestamp", "double", "CAST(timestamp AS TIMESTAMP) AS timestamp"),
    ],
)
def test_another_type_is_refused_by_column_found_expected_and_cast(column: str, kind: str, cast: str) -> None:
    with pytest.raises(SchemaError) as caught:
        check({"value": "string", column: kind}, topic=None if column == "topic" else "t")
    message = str(caught.value)
    assert f"column '{column}' is of type {kind}; it must be " in message
    assert cast in message


def test_the_column_is_named_as_the_user_wrote_it() -> None:
    with pytest.raises(SchemaError, match=r"column 'Key' is of type int; .*CAST\(Key AS STRING\) AS Key"):
        check({"value": "string", "Key": "int"}, topic="t")


def test_without_a_value_the_remedy_is_to_make_one() -> None:
    with pytest.raises(SchemaError) as caught:
        check({"id": "bigint", "name": "string"}, topic="t")
    message = str(caught.value)
    assert "no column 'value', only 'id', 'name'" in message
    assert 'selectExpr("to_json(struct(*)) AS value")' in message


def test_the_topic_comes_from_the_option_or_a_column() -> None:
    with pytest.raises(SchemaError, match="no topic: set the option 'topic', or add a column 'topic'"):
        check({"value": "string"})
    check({"value": "string", "topic": "string"})
    check({"value": "string"}, topic="t")


def test_a_column_whose_place_an_option_takes_is_not_looked_at() -> None:
    check({"value": "string", "topic": "int"}, topic="t")
    check({"value": "string", "headers": "int"}, topic="t", include_headers=False)
    for included in (None, True):
        with pytest.raises(SchemaError, match="headers"):
            check({"value": "string", "headers": "int"}, topic="t", include_headers=included)


def test_other_columns_are_left_out_as_sparks_sink_does() -> None:
    check({"value": "string", "event_id": "bigint", "payload": "map<int,array<date>>"}, topic="t")


def test_elements_without_a_schema_need_no_columns() -> None:
    KafkaConverter(None, KafkaOptions(bootstrap_servers="broker"))
