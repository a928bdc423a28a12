"""Converters of a user's own, on the batches that Spark hands over."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from asyncsink.blocks import ListBlock
from asyncsink.context import WriteContext
from asyncsink.converter import ElementConverter
from asyncsink_dynamic_kafka import DynamicKafkaSink, KafkaStreamRecord
from asyncsink_dynamic_kafka.writer.intake import Intake, Part

from .options import FILE


def by_kind(row: dict[str, Any]) -> dict[str, Any]:
    """A function in the place of a converter."""
    return {"stream": row["tags"]["kind"], "value": row["text"]}


class ByKind(ElementConverter[dict[str, Any], KafkaStreamRecord]):
    def apply(self, element: dict[str, Any], context: WriteContext) -> KafkaStreamRecord:
        return KafkaStreamRecord(element["tags"]["kind"], element["text"].encode(), timestamp=context.sequence)


class Twice(ByKind):
    """Makes more records than there are rows."""

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> ListBlock[KafkaStreamRecord]:
        return ListBlock([KafkaStreamRecord("orders", b"x")] * (2 * batch.num_rows), [1] * (2 * batch.num_rows))


def batch(*texts: bytes) -> pa.RecordBatch:
    """Rows with a map, and with strings that may be no UTF-8."""
    strings = pa.array(texts, pa.binary()).view(pa.string())
    tags = pa.array([[("kind", "orders")]] * len(texts), pa.map_(pa.string(), pa.string()))
    return pa.record_batch({"text": strings, "tags": tags})


def taken(converter: Any, *texts: bytes) -> Part:
    sink = DynamicKafkaSink.from_options(FILE).with_converter(converter)
    intake = Intake(sink.converter(None), max_record_bytes=1000, is_subscribed=lambda stream_id: stream_id == "orders")
    return intake.of_batch(batch(*texts), WriteContext(sequence=7))


def test_a_function_is_given_rows_with_maps_as_dictionaries() -> None:
    block, refused = taken(by_kind, b"a", b"b")
    assert refused == []
    assert block is not None
    assert [block.record(row) for row in range(2)] == [
        KafkaStreamRecord("orders", b"a"),
        KafkaStreamRecord("orders", b"b"),
    ]


def test_a_converter_is_told_the_sequence_of_each_row() -> None:
    block, _ = taken(ByKind, b"a", b"b")
    assert block is not None
    assert [block.record(row).timestamp for row in range(2)] == [7, 8]


def test_a_row_that_python_cannot_hold_concerns_it_alone() -> None:
    block, refused = taken(by_kind, b"a", b"\xff", b"c")
    assert block is not None
    assert block.records.value.to_pylist() == [b"a", b"c"]
    assert [(each.sequence, each.code) for each in refused] == [(8, "ConversionError")]


def test_a_converter_that_makes_more_records_than_rows_is_told() -> None:
    _, refused = taken(Twice, b"a", b"b")
    assert [each.sequence for each in refused] == [7, 8]
    assert "Twice made 2 records of 1 rows" in refused[0].message
