"""From rows and elements to records of streams."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from asyncsink.context import Column, Schema, WriteContext, WriterInitContext
from asyncsink.errors import SchemaError
from asyncsink_dynamic_kafka import KafkaStreamRecord, KafkaStreamRecordSerializer
from asyncsink_dynamic_kafka.converter import DynamicKafkaConverter, SerializingConverter
from asyncsink_dynamic_kafka.record import StreamRecordBytes
from asyncsink_dynamic_kafka.routing.blocks import NO_STREAM
from asyncsink_kafka import KafkaRecord

from .options import options_of

ONE = DynamicKafkaConverter(None, options_of())
SEVERAL = DynamicKafkaConverter(None, options_of({"streamIds": "orders,clicks"}))
MATCHING = DynamicKafkaConverter(None, options_of({"streamIds": None, "streamPattern": "o.*"}))
WHOLE = KafkaStreamRecord("clicks", b"v", b"k", (("h", b"1"),), 12, 3)


def schema(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def records_of(converter: DynamicKafkaConverter, batch: pa.RecordBatch) -> list[KafkaStreamRecord | None]:
    block = converter.block(batch, 40)
    assert block.records.sequence.tolist() == [*range(40, 40 + batch.num_rows)]
    return [None if block.stream_of[row] == NO_STREAM else block.record(row) for row in range(len(block))]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (b"v", KafkaStreamRecord("orders", b"v")),
        ("v", KafkaStreamRecord("orders", b"v")),
        ({"value": "v"}, KafkaStreamRecord("orders", b"v")),
        ({"VALUE": b"v", "Stream": None, "topic": "left out"}, KafkaStreamRecord("orders", b"v")),
        ({"value": None, "stream": "elsewhere"}, KafkaStreamRecord("elsewhere")),
        (
            {"value": "v", "key": "k", "stream": "clicks", "headers": {"h": b"1"}, "timestamp": 12, "partition": 3},
            WHOLE,
        ),
        (WHOLE, WHOLE),
        (KafkaStreamRecord("a", "text", headers={"h": "1"}), KafkaStreamRecord("a", b"text", None, (("h", b"1"),))),  # type: ignore[arg-type]
    ],
)
def test_elements_become_records(element: Any, expected: KafkaStreamRecord) -> None:
    assert ONE.apply(element, WriteContext()) == expected


@pytest.mark.parametrize("converter", [SEVERAL, MATCHING])
@pytest.mark.parametrize("element", [b"v", {"value": b"v"}, {"value": b"v", "stream": None}])
def test_one_of_several_streams_must_be_named(converter: DynamicKafkaConverter, element: Any) -> None:
    with pytest.raises(ValueError, match="no field 'stream', and the sink may write to several streams"):
        converter.apply(element, WriteContext())
    assert converter.apply({"value": b"v", "stream": "clicks"}, WriteContext()).stream_id == "clicks"


@pytest.mark.parametrize(
    ("element", "told"),
    [
        (3, "element of type int is no KafkaStreamRecord"),
        (KafkaRecord(value=b"v"), "element of type KafkaRecord is no KafkaStreamRecord"),
        ({"value": b"v", "stream": b"orders"}, "'stream' is of type bytes; it must be str"),
        (KafkaStreamRecord(None, b"v"), "'stream' is of type NoneType"),  # type: ignore[arg-type]
        (KafkaStreamRecord("a", 3), "'value' is of type int"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_record_is_told(element: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        ONE.apply(element, WriteContext())


def test_rows_of_one_stream_need_no_column() -> None:
    batch = pa.record_batch({"value": ["a", None], "topic": ["x", "y"]})
    assert records_of(ONE, batch) == [KafkaStreamRecord("orders", b"a"), KafkaStreamRecord("orders")]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_the_column_names_the_stream_of_each_row(kind: pa.DataType) -> None:
    streams = pa.array(["clicks", "orders", None, "clicks"], pa.string()).cast(kind)
    batch = pa.record_batch({"value": [b"0", b"1", b"2", b"3"], "STREAM": streams, "key": ["k"] * 4})
    found = [
        None if name is None else KafkaStreamRecord(name, b"%d" % row, b"k")
        for row, name in enumerate(["clicks", "orders", None, "clicks"])
    ]
    assert records_of(SEVERAL, batch) == found
    assert records_of(ONE, batch) == [*found[:2], KafkaStreamRecord("orders", b"2", b"k"), found[3]]


@pytest.mark.parametrize("streams", [pa.nulls(2), pa.nulls(2, pa.string())])
def test_rows_without_any_stream_are_of_the_one_or_marked(streams: pa.Array) -> None:
    batch = pa.record_batch({"value": [b"0", b"1"], "stream": streams})
    assert records_of(SEVERAL, batch) == [None, None]
    assert records_of(ONE, batch) == [KafkaStreamRecord("orders", b"0"), KafkaStreamRecord("orders", b"1")]


def test_columns_that_cannot_be_read_are_told_with_the_batch() -> None:
    with pytest.raises(SchemaError, match="the rows have no stream: add a column 'stream'"):
        SEVERAL.block(pa.record_batch({"value": ["a"]}), 0)
    with pytest.raises(SchemaError, match="column 'stream' is of type int64; it must be string"):
        ONE.block(pa.record_batch({"value": ["a"], "stream": [1]}), 0)


@pytest.mark.parametrize(
    ("streams", "columns", "told"),
    [
        ("orders", {"key": "string"}, "there is no column 'value', only 'key'"),
        ("a,b", {"value": "string"}, "the rows have no stream: add a column 'stream'.*option 'streamIds' to a single"),
        ("a,b", {"value": "string", "stream": "int"}, "'stream' is of type int; it must be string"),
        ("orders", {"value": "bigint"}, "'value' is of type bigint"),
        ("orders", {"value": "string", "partition": "string"}, "'partition' is of type string"),
    ],
)
def test_columns_are_checked_before_any_row(streams: str, columns: dict[str, str], told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        DynamicKafkaConverter(schema(**columns), options_of({"streamIds": streams}))


def test_columns_that_mean_nothing_are_left_out() -> None:
    rows = schema(value="binary", topic="int", offset="bigint", Stream="varchar(9)")
    made = DynamicKafkaConverter(rows, options_of({"streamIds": "a,b"}))
    assert made.apply({"value": b"v", "stream": "a", "offset": 1}, WriteContext()) == KafkaStreamRecord("a", b"v")


class ByKind(KafkaStreamRecordSerializer[dict[str, Any]]):
    """A serializer of a user's own."""

    def __init__(self) -> None:
        self.opened: list[int] = []

    def open(self, context: Any) -> None:
        self.opened.append(context.writer_id)

    def serialize(self, element: dict[str, Any], timestamp: int | None) -> KafkaStreamRecord:
        if "kind" not in element:
            return element  # type: ignore[return-value]
        return KafkaStreamRecord(element["kind"], element["text"].encode(), timestamp=timestamp)


def test_a_serializer_of_ones_own_makes_records_of_elements_and_of_rows() -> None:
    serializer = ByKind()
    converter = SerializingConverter(serializer)
    converter.open(WriterInitContext(writer_id=5))
    assert serializer.opened == [5]
    element = {"kind": "clicks", "text": "a"}
    assert converter.apply(element, WriteContext(timestamp=9)) == KafkaStreamRecord("clicks", b"a", timestamp=9)
    block = converter.block(pa.RecordBatch.from_pylist([element, {"kind": "orders", "text": "b"}]), 7)
    assert [block.record(row) for row in range(2)] == [
        KafkaStreamRecord("clicks", b"a"),
        KafkaStreamRecord("orders", b"b"),
    ]
    assert block.records.sequence.tolist() == [7, 8]
    with pytest.raises(TypeError, match=r"ByKind.serialize returned a dict; return a KafkaStreamRecord"):
        converter.apply({}, WriteContext())


@pytest.mark.parametrize("record", [WHOLE, KafkaStreamRecord("a"), KafkaStreamRecord("", b"", b"", (("h", None),))])
def test_records_come_back_from_their_bytes(record: KafkaStreamRecord) -> None:
    serializer = StreamRecordBytes()
    assert serializer.deserialize(1, serializer.serialize(record)) == record


def test_a_record_that_named_no_stream_comes_back_without_one() -> None:
    serializer = StreamRecordBytes()
    data = serializer.serialize(KafkaRecord(value=b"v"))
    assert serializer.deserialize(1, data) == KafkaStreamRecord("", b"v")
