"""From rows, and from what a program writes, to records of streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from asyncsink.context import InitContext, Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import SchemaError
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.serializer import KafkaStreamRecordSerializer
from asyncsink_kafka.columns import COLUMN_TYPES, check_types, check_value, used_columns, wrong_type
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.row_fields import as_bytes, checked_record, record_of_mapping

if TYPE_CHECKING:
    import pyarrow as pa

    from asyncsink_dynamic_kafka.options import DynamicKafkaOptions
    from asyncsink_dynamic_kafka.routing.blocks import StreamBlock

STREAM: Final = "stream"
"""The column, or field of a mapping, with the id of a row's stream."""

_TYPE: Final = COLUMN_TYPES["topic"]


class StreamConverter(ElementConverter[Any, KafkaStreamRecord]):
    """Makes records of streams of elements and of Arrow batches."""

    @abstractmethod
    def block(self, batch: pa.RecordBatch, first_sequence: int) -> StreamBlock:
        """The rows of an Arrow batch as columns of records, all at once.

        :param first_sequence: the first row's position among the elements of its writer
        :raises Exception: a row cannot be converted
        """


class DynamicKafkaConverter(StreamConverter):
    """Makes records of columns, of mappings, of payloads, and of records of streams.

    Columns: ``value``, ``key``, ``headers``, ``partition`` and ``timestamp`` as the Kafka sink has them, and ``stream``
    (string), the id of the row's stream. Where the sink subscribes to one stream by its id, rows that name none are of
    that. A mapping has the same names; bytes or a string are a value of the one stream; a :class:`KafkaStreamRecord` is
    taken as it is.

    :param schema: the columns of the rows to come; None where elements have no schema
    :raises SchemaError: a column is missing or of another type
    """

    def __init__(self, schema: Schema | None, options: DynamicKafkaOptions) -> None:
        self._used = used_columns(options) - {"topic"}
        self._only_stream = options.only_stream
        if schema is not None:
            self._check(schema)

    def apply(self, element: Any, context: WriteContext) -> KafkaStreamRecord:
        """Convert one element.

        :raises TypeError: it, or one of its fields, is of a type that cannot become a record's
        :raises ValueError: it names no stream or has no ``value``, or a number is too large for Kafka
        """
        if isinstance(element, KafkaStreamRecord):
            return checked_stream_record(element)
        if isinstance(element, Mapping):
            return KafkaStreamRecord.of(self._stream_of(element), record_of_mapping(element, self._used))
        if isinstance(element, str | bytes | bytearray | memoryview):
            return KafkaStreamRecord(self._one_stream(), as_bytes("value", element))
        raise TypeError(
            f"an element of type {type(element).__name__} is no KafkaStreamRecord, no mapping with the fields 'value' "
            "and 'stream', and no value as bytes or str; convert it to one of these"
        )

    def block(self, batch: pa.RecordBatch, first_sequence: int) -> StreamBlock:
        """The rows of an Arrow batch as columns of records, all at once; those without a stream are marked.

        :raises SchemaError: a column is missing, or has a type that cannot become its own
        """
        from asyncsink_dynamic_kafka.stream_columns import block_of

        return block_of(batch, self._used, first_sequence, self._only_stream)

    def _check(self, schema: Schema) -> None:
        check_value(schema)
        column = schema.find(STREAM)
        if column is None and self._only_stream is None:
            raise no_stream_column()
        if column is not None and not _TYPE.pattern.fullmatch(column.type):
            raise wrong_type(column.name, column.type, _TYPE)
        check_types(schema, self._used)

    def _stream_of(self, element: Mapping[Any, Any]) -> str:
        for name, content in element.items():
            if isinstance(name, str) and name.lower() == STREAM and content is not None:
                return _checked_id(content)
        return self._one_stream()

    def _one_stream(self) -> str:
        if self._only_stream is None:
            raise ValueError(
                f"the element has no field {STREAM!r}, and the sink may write to several streams; add it with the id "
                "of one of them"
            )
        return self._only_stream


class SerializingConverter(StreamConverter):
    """Makes records by a serializer of the user's own; under Spark of rows as dictionaries."""

    def __init__(self, serializer: KafkaStreamRecordSerializer[Any]) -> None:
        self._serializer = serializer

    def open(self, context: InitContext) -> None:
        self._serializer.open(context)

    def apply(self, element: Any, context: WriteContext) -> KafkaStreamRecord:
        """Convert one element.

        :raises TypeError: the serializer made something else, or a field of the record is of the wrong type
        :raises ValueError: a number is too large for Kafka
        """
        made = self._serializer.serialize(element, context.timestamp)
        if not isinstance(made, KafkaStreamRecord):
            raise TypeError(
                f"{type(self._serializer).__qualname__}.serialize returned a {type(made).__name__}; return a "
                "KafkaStreamRecord"
            )
        return checked_stream_record(made)

    def block(self, batch: pa.RecordBatch, first_sequence: int) -> StreamBlock:
        from asyncsink.arrow.rows import rows_of
        from asyncsink_dynamic_kafka.routing.blocks import StreamBlock

        made = self.apply_many(rows_of(batch), WriteContext(sequence=first_sequence))
        return StreamBlock.of(made, first_sequence)


def no_stream_column() -> SchemaError:
    """The error of rows that may be of several streams and do not say of which."""
    return SchemaError(
        "the rows have no stream: add a column 'stream' with the id of each row's stream, or set the option "
        "'streamIds' to a single one"
    )


def checked_stream_record(record: KafkaStreamRecord) -> KafkaStreamRecord:
    """A record of the same content whose fields have their types; the record itself where it is a plain one.

    :raises TypeError: a field's value is of a type that it cannot have
    :raises ValueError: a number is too large for Kafka
    """
    stream_id = _checked_id(record.stream_id)
    made: KafkaRecord = record.kafka_record()
    checked = checked_record(made)
    return record if checked is made else KafkaStreamRecord.of(stream_id, checked)


def _checked_id(stream_id: Any) -> str:
    if not isinstance(stream_id, str):
        raise TypeError(f"field {STREAM!r} is of type {type(stream_id).__name__}; it must be str: decode bytes")
    stream_id.encode()  # a lone surrogate is found here, where it concerns this element alone
    return stream_id
