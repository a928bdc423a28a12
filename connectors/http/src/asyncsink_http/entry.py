"""The entry of an HTTP request, one row's payload, and the converter that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncsink.blocks import ListBlock
from asyncsink.context import InitContext, Schema, WriteContext, idempotency_prefix
from asyncsink.converter import ElementConverter
from asyncsink.errors import SchemaError
from asyncsink.json_schema import check_json_types
from asyncsink.json_text import encode_row
from asyncsink_http.options import Body

if TYPE_CHECKING:
    import pyarrow as pa


class KeyedEntry(NamedTuple):
    """A payload that makes a request of its own, with the row's idempotency id.

    The id is ``<query>/<batch>/<partition>/<sequence>/<digest of the payload>``: a replay of the same micro-batch
    repeats it for the same row in the same place, and another row there has another.
    """

    payload: bytes
    key: str


HttpEntry = bytes | KeyedEntry
"""One row's payload; keyed where a request carries a single row."""

PAYLOAD_COLUMNS = ("body", "value")
"""A column of one of these names is the whole payload."""


class HttpConverter(ElementConverter[Any, HttpEntry]):
    """Makes entries of rows, or of payloads that are ready.

    Rows with a schema: the column ``body`` or ``value``, string or binary, if there is one, is the payload as it is;
    else the whole row becomes a JSON object. Elements without a schema: bytes and strings are payloads as they are, a
    mapping becomes a JSON object.

    :raises SchemaError: a column has no form in JSON, or others stand beside a payload column
    """

    def __init__(self, schema: Schema | None, body: Body, overhead: int) -> None:
        self._payload = None if schema is None else _payload_column(schema)
        if schema is not None and self._payload is None:
            check_json_types(schema)
        self._body = body
        self._overhead = overhead
        self._prefix: str | None = None

    def open(self, context: InitContext) -> None:
        self._prefix = idempotency_prefix(context)

    def apply(self, element: Any, context: WriteContext) -> HttpEntry:
        """Convert one row or payload.

        :raises TypeError: it is none, or one of its values has no form in JSON
        :raises ValueError: its payload is null or empty, or breaks the line of an ndjson body
        """
        payload = self._payload_of(element)
        return payload if self._body != "single" else self._keyed(payload, context.sequence)

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> ListBlock[HttpEntry]:
        """Convert all rows of an Arrow batch at once; raises as :meth:`apply` does, for the batch as a whole."""
        from asyncsink.arrow import json_rows

        payloads: list[bytes]
        if self._payload is None:
            payloads = json_rows.rows_as_json(batch)
        else:
            payloads = [self._checked(value) for value in json_rows.payloads(batch, self._payload)]
        sizes = [len(payload) + self._overhead for payload in payloads]
        entries: Sequence[HttpEntry] = payloads
        if self._body == "single":
            entries = [self._keyed(each, context.sequence + row) for row, each in enumerate(payloads)]
        return ListBlock(entries, sizes)

    def _payload_of(self, element: Any) -> bytes:
        if isinstance(element, Mapping):
            return encode_row(element) if self._payload is None else self._checked(element[self._payload])
        if isinstance(element, str | bytes | bytearray | memoryview):
            return self._checked(element)
        raise TypeError(
            f"an element of type {type(element).__name__} is neither a mapping, which becomes a JSON object, nor a "
            "payload as bytes or str"
        )

    def _checked(self, value: Any) -> bytes:
        if value is None:
            raise ValueError(f"column {self._payload!r} is null, so there is nothing to send; filter such rows out")
        payload = value.encode() if isinstance(value, str) else bytes(value)
        if self._body != "single" and not payload.strip():
            raise ValueError(
                "the payload is empty, and between others nothing of it would be seen; filter such rows out, or set "
                "body=single"
            )
        if self._body == "ndjson" and b"\n" in payload:
            raise ValueError(
                "the payload holds a line break, which ends a row in an ndjson body; write the row's JSON in one line, "
                "or set body=json-array"
            )
        return payload

    def _keyed(self, payload: bytes, sequence: int) -> KeyedEntry:
        if self._prefix is None:
            raise RuntimeError("HttpConverter.open(context) must be called before rows are converted")
        # A replay that splits its rows otherwise has other rows in the same places, and they must not share a key.
        digest = blake2b(payload, digest_size=8).hexdigest()
        return KeyedEntry(payload, f"{self._prefix}{sequence}/{digest}")


def _payload_column(schema: Schema) -> str | None:
    """The name of the column that is the payload; None if the whole row is."""
    column = next((found for name in PAYLOAD_COLUMNS if (found := schema.find(name))), None)
    if column is None:
        return None
    if column.type not in ("string", "binary") and not column.type.startswith(("char(", "varchar(")):
        raise SchemaError(
            f"column {column.name!r} is of type {column.type}; a column of that name is the whole payload and must be "
            "string or binary: cast it, or rename it to send the whole row as JSON"
        )
    others = [name for name in schema.names if name != column.name]
    if others:
        raise SchemaError(
            f"column {column.name!r} is the whole payload, so {', '.join(map(repr, others))} would not be sent; select "
            f"{column.name!r} alone, or rename it to send the whole row as JSON"
        )
    return column.name
