"""A converter of the user's own: what is taken, what is refused, and what is done with it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from datetime import date
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import (
    AsyncSinkWriterConfig,
    Column,
    ConfigurationError,
    ConversionError,
    ElementConverter,
    InitContext,
    Schema,
    SchemaError,
    WriteContext,
    WriterInitContext,
)
from asyncsink.arrow.rows import rows_of
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink

CONTEXT = WriteContext()
SCHEMA = Schema((Column("a", "int"),))


def entry_of(row: Mapping[str, Any]) -> FakeEntry:
    return FakeEntry(row["name"])


class Numbered(ElementConverter[Any, FakeEntry]):
    """Counts from 0 once it is opened."""

    def open(self, context: InitContext) -> None:
        self.count = 0

    def apply(self, element: Any, context: WriteContext) -> FakeEntry:
        self.count += 1
        return FakeEntry(f"{element} is {self.count}")


class OfSchema(ElementConverter[Any, FakeEntry]):
    def __init__(self, schema: Schema | None) -> None:
        if schema is not None and schema.find("a") is None:
            raise SchemaError("column 'a' is missing")
        self.names = () if schema is None else tuple(schema.names)

    def apply(self, element: Any, context: WriteContext) -> FakeEntry:
        return FakeEntry(self.names)


class OptionalSchema(OfSchema):
    def __init__(self, prefix: str = "", schema: Schema | None = None) -> None:
        super().__init__(schema)
        self.prefix = prefix


def written(sink: FakeSink, elements: list[Any], **config: Any) -> list[Any]:
    """The names of what the destination has stored."""

    async def run() -> None:
        async with sink.open(AsyncSinkWriterConfig(**config)) as writer:
            await writer.write(elements[0])
            await writer.write_many(elements[1:2])
            await writer.write_batch(pa.RecordBatch.from_pylist(elements[2:]))

    anyio.run(run)
    return [each.name for each in sink.destination.stored]


def test_a_function_makes_of_each_element_what_the_sink_takes() -> None:
    sink = FakeSink(FakeDestination()).with_converter(entry_of)
    assert written(sink, [{"name": each} for each in "abcd"]) == ["a", "b", "c", "d"]


def test_the_sink_that_it_was_made_of_stays_as_it_was() -> None:
    sink = FakeSink(FakeDestination())
    own = sink.with_converter(entry_of)
    assert type(sink.converter(None)) is not type(own.converter(None))
    assert sink.fingerprint == own.fingerprint


def test_the_last_converter_counts() -> None:
    sink = FakeSink(FakeDestination()).with_converter(Numbered()).with_converter(entry_of)
    assert sink.converter(None).apply({"name": "a"}, CONTEXT) == FakeEntry("a")


def test_an_instance_is_copied_for_each_writer() -> None:
    sink = FakeSink(FakeDestination()).with_converter(Numbered())
    one, two = sink.converter(None), sink.converter(None)
    for each in (one, two):
        each.open(WriterInitContext())
    assert one.apply("x", CONTEXT).name == "x is 1"
    assert one.apply("x", CONTEXT).name == "x is 2"
    assert two.apply("x", CONTEXT).name == "x is 1"


@pytest.mark.parametrize("kind", [OfSchema, OptionalSchema])
def test_a_class_is_given_the_schema_if_it_asks_for_it(kind: type[OfSchema]) -> None:
    sink = FakeSink(FakeDestination()).with_converter(kind)
    assert sink.converter(SCHEMA).apply(None, CONTEXT).name == ("a",)
    with pytest.raises(SchemaError, match="column 'a' is missing"):
        sink.converter(Schema(()))


def test_a_class_without_parameters_is_made_without() -> None:
    converter = FakeSink(FakeDestination()).with_converter(Numbered).converter(SCHEMA)
    converter.open(WriterInitContext())
    assert converter.apply("x", CONTEXT).name == "x is 1"


def test_a_sink_with_a_converter_can_be_pickled() -> None:
    sink = FakeSink(FakeDestination()).with_converter(OfSchema)
    copy = pickle.loads(pickle.dumps(sink))
    assert copy.converter(SCHEMA).apply(None, CONTEXT).name == ("a",)


def test_what_a_function_raises_concerns_one_element_and_names_the_function() -> None:
    rows = [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"nam": "d"}, {"name": "e"}]
    sink = FakeSink(FakeDestination()).with_converter(entry_of)
    batch = pa.RecordBatch.from_pylist([{"name": 1}, {"name": None}])

    def positive(row: Mapping[str, Any]) -> FakeEntry:
        return FakeEntry(row["name"] + 1)

    async def one_by_one() -> None:
        async with sink.open() as writer:
            for row in rows:
                await writer.write(row)

    async def at_once() -> None:
        async with sink.with_converter(positive).open() as writer:
            await writer.write_batch(batch)

    with pytest.raises(ConversionError, match=r"^entry_of could not convert element 3: KeyError: 'name'"):
        anyio.run(one_by_one)
    with pytest.raises(ConversionError, match="positive could not convert element 1: TypeError"):
        anyio.run(at_once)
    assert [each.name for each in sink.destination.stored] == []


def test_rows_that_cannot_be_converted_are_dropped_alone_where_the_user_wants_it() -> None:
    def positive(row: Mapping[str, Any]) -> FakeEntry:
        return FakeEntry(row["name"] + 1)

    sink = FakeSink(FakeDestination()).with_converter(positive)
    rows = [{"name": 1}, {"name": None}, {"name": 3}, {"name": None}, {"name": 5}]
    assert written(sink, rows, on_rejected="drop") == [2, 4, 6]


class NeedsTwo(Numbered):
    def __init__(self, schema: Schema, other: int) -> None:
        self.other = other


class Abstract(ElementConverter[Any, Any]):
    pass


async def asynchronous(row: Any) -> Any:
    return row


def of_two(row: Any, other: Any) -> Any:
    return row, other


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (7, "converter = 7 is neither an ElementConverter nor a function"),
        (dict, "converter dict is a class and no ElementConverter; derive it"),
        (Abstract, "converter Abstract is abstract; define its method apply"),
        (NeedsTwo, "converter NeedsTwo takes schema, other; .* give an instance"),
        (asynchronous, "converter asynchronous is asynchronous"),
        (of_two, "converter of_two cannot be called with a row alone: missing a required argument: 'other'"),
        (lambda: None, "cannot be called with a row alone: too many positional arguments"),
    ],
)
def test_what_is_no_converter_is_refused_at_once(given: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        FakeSink(FakeDestination()).with_converter(given)


def test_a_class_that_fails_to_be_made_is_named() -> None:
    class Broken(Numbered):
        def __init__(self) -> None:
            raise KeyError("region")

    sink = FakeSink(FakeDestination()).with_converter(Broken)
    with pytest.raises(ConfigurationError, match="Broken could not be made for the columns a: KeyError: 'region'"):
        sink.converter(SCHEMA)
    with pytest.raises(ConfigurationError, match="Broken could not be made without a schema"):
        sink.converter(None)


def test_rows_have_dictionaries_for_maps_at_any_depth() -> None:
    pairs = pa.map_(pa.string(), pa.int64())
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([[("k", 1)], None], pairs),
            pa.array([[[("l", 2)]], None], pa.list_(pairs)),
            pa.array([{"m": [("n", 3)], "x": 1}, None], pa.struct([("m", pairs), ("x", pa.int8())])),
            pa.array([[("o", [("p", 4)])], []], pa.map_(pa.string(), pairs)),
            pa.array([date(2020, 1, 1), None]),
            pa.array([[1], None], pa.list_(pa.int64())),
        ],
        names=["map", "list", "struct", "nested", "day", "plain"],
    )
    assert rows_of(batch) == [
        {
            "map": {"k": 1},
            "list": [{"l": 2}],
            "struct": {"m": {"n": 3}, "x": 1},
            "nested": {"o": {"p": 4}},
            "day": date(2020, 1, 1),
            "plain": [1],
        },
        {"map": None, "list": None, "struct": None, "nested": {}, "day": None, "plain": None},
    ]
