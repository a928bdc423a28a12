"""From rows to entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock
from asyncsink.context import InitContext, Schema, WriteContext, idempotency_prefix
from asyncsink.converter import ElementConverter
from asyncsink_http.bodies.body import Body
from asyncsink_http.bodies.payloads import payloads_of
from asyncsink_http.entries.entry import HttpEntry, Row, RowColumns
from asyncsink_http.options import HttpOptions
from asyncsink_http.requests.idempotency import row_key

if TYPE_CHECKING:
    import pyarrow as pa

PAYLOAD_COLUMNS = ("body", "value")
"""A column of one of these names is the payload; the first one wins."""


class HttpConverter(ElementConverter[Any, HttpEntry]):
    """Makes entries of rows, or of payloads that are ready.

    Rows with a schema: the column ``body`` or ``value``, string or binary, if there is one, is the payload as it is;
    else the whole row becomes a JSON object. Elements without a schema: bytes and strings are payloads as they are, a
    mapping becomes a JSON object.

    :raises SchemaError: a column has no form in JSON, or others stand beside a payload column
    """

    def __init__(self, schema: Schema | None, body: Body, options: HttpOptions) -> None:
        self._payloads = payloads_of(options, schema, PAYLOAD_COLUMNS)
        self._body = body
        self._prefix: str | None = None

    def open(self, context: InitContext) -> None:
        self._prefix = idempotency_prefix(context)

    def apply(self, element: Any, context: WriteContext) -> HttpEntry:
        """Convert one row or payload.

        :raises TypeError: it is none, or one of its values has no form in JSON
        :raises ValueError: its payload is null, or the body cannot carry it
        """
        payload = self._body.checked(self._payloads.of(element))
        return Row(payload, key=self._key(payload, context.sequence)) if self._body.one_row else payload

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> EntryBlock[HttpEntry]:
        """Convert all rows of an Arrow batch at once; raises as :meth:`apply` does, for the batch as a whole."""
        payloads = self._payloads.column_of(batch)
        if not self._body.one_row:
            return self._body.block(payloads, None)
        keys = [self._key(payload, context.sequence + row) for row, payload in enumerate(payloads.to_pylist())]
        return self._body.block(payloads, RowColumns(keys=keys))

    def _key(self, payload: bytes, sequence: int) -> str:
        if self._prefix is None:
            raise RuntimeError("HttpConverter.open(context) must be called before rows are converted")
        return row_key(self._prefix, sequence, payload)
