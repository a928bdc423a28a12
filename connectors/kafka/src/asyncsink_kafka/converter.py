"""From rows, and from what a program writes, to Kafka records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncsink.context import Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink_kafka.columns import check_columns, used_columns
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.row_fields import as_bytes, checked_record, record_of_mapping

if TYPE_CHECKING:
    import pyarrow as pa

    from asyncsink_kafka.options import KafkaOptions
    from asyncsink_kafka.records import Records


class KafkaConverter(ElementConverter[Any, KafkaRecord]):
    """Makes records of columns as Spark's Kafka sink takes them, of mappings, of payloads, and of records.

    Columns: ``value`` and ``key`` (string or binary), ``topic`` (string), ``headers`` (array of struct<key, value>, or
    map), ``partition`` (int), and ``timestamp`` (timestamp, or bigint in ms); names compare without case, other columns
    are left out. The option ``topic`` wins over the column. A mapping has the same names; bytes or a string are the
    value; a :class:`KafkaRecord` is taken as it is, with its own topic.

    :param schema: the columns of the rows to come; None where elements have no schema
    :raises SchemaError: a column is missing or of another type
    """

    def __init__(self, schema: Schema | None, options: KafkaOptions) -> None:
        if schema is not None:
            check_columns(schema, options)
        self._used = used_columns(options)

    def apply(self, element: Any, context: WriteContext) -> KafkaRecord:
        """Convert one element.

        :raises TypeError: it, or one of its fields, is of a type that cannot become a record's
        :raises ValueError: a mapping has no ``value``, or a number is too large for Kafka
        """
        if isinstance(element, KafkaRecord):
            return checked_record(element)
        if isinstance(element, Mapping):
            return record_of_mapping(element, self._used)
        if isinstance(element, str | bytes | bytearray | memoryview):
            return KafkaRecord(value=as_bytes("value", element))
        raise TypeError(
            f"an element of type {type(element).__name__} is no KafkaRecord, no mapping with the field 'value', and no "
            "value as bytes or str; convert it to one of these"
        )

    def records(self, batch: pa.RecordBatch, first_sequence: int) -> Records:
        """The rows of an Arrow batch as columns of records, all at once.

        :param first_sequence: the first row's position among the elements of its writer
        :raises SchemaError: a column is missing, or has a type that cannot become its own
        """
        from asyncsink_kafka.arrow_columns import records_of

        return records_of(batch, self._used, first_sequence)
