"""From rows and payloads to entries: the bytes of a row as they stand in its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock
from asyncsink.context import Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.payloads import Payloads
from asyncsink_firehose.delimiter import NEWLINE, delimited

if TYPE_CHECKING:
    import pyarrow as pa

PAYLOAD_COLUMNS = ("data", "value")
"""A column of one of these names is the payload; the first one wins."""


class FirehoseConverter(ElementConverter[Any, bytes]):
    """Makes entries of rows, or of payloads that are ready, each with what stands behind it.

    Rows with a schema: the column ``data`` or ``value``, string or binary, if there is one, is the payload as it is;
    else the whole row becomes a JSON object. Elements without a schema: bytes and strings are payloads as they are, a
    mapping becomes a JSON object.

    :param delimiter: what stands behind each row; None for a line end behind JSON and nothing behind others
    :raises SchemaError: a column has no form in JSON, or others stand beside a payload column
    """

    def __init__(self, schema: Schema | None, delimiter: bytes | None) -> None:
        self._payloads = Payloads(schema, PAYLOAD_COLUMNS)
        self._behind_ready = b"" if delimiter is None else delimiter
        self._behind_json = NEWLINE if delimiter is None else delimiter

    def apply(self, element: Any, context: WriteContext) -> bytes:
        """Convert one row or payload.

        :raises TypeError: it is none, or one of its values has no form in JSON
        :raises ValueError: its payload is null or empty, or holds the delimiter
        """
        becomes_json = isinstance(element, Mapping) and self._payloads.column is None
        return delimited(self._payloads.of(element), self._behind_json if becomes_json else self._behind_ready)

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> EntryBlock[bytes]:
        """Convert all rows of an Arrow batch at once; raises as :meth:`apply` does, for the batch as a whole."""
        from asyncsink_firehose.columns import rows_of_column, rows_of_payloads

        column = self._payloads.column
        if column is not None:
            return rows_of_column(batch, column, self._behind_ready)
        return rows_of_payloads(self._payloads.column_of(batch), self._behind_json)
