"""The entry of an HTTP request, one row's payload, and the converter that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncsink.blocks import ListBlock
from asyncsink.context import InitContext, Schema, WriteContext, idempotency_prefix
from asyncsink.converter import ElementConverter
from asyncsink.payloads import Payloads
from asyncsink_http.options.http_options import Body

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
"""A column of one of these names is the payload; the first one wins."""


class HttpConverter(ElementConverter[Any, HttpEntry]):
    """Makes entries of rows, or of payloads that are ready.

    Rows with a schema: the column ``body`` or ``value``, string or binary, if there is one, is the payload as it is;
    else the whole row becomes a JSON object. Elements without a schema: bytes and strings are payloads as they are, a
    mapping becomes a JSON object.

    :raises SchemaError: a column has no form in JSON, or others stand beside a payload column
    """

    def __init__(self, schema: Schema | None, body: Body, overhead: int) -> None:
        self._payloads = Payloads(schema, PAYLOAD_COLUMNS)
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
        payload = self._checked(self._payloads.of(element))
        return payload if self._body != "single" else self._keyed(payload, context.sequence)

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> ListBlock[HttpEntry]:
        """Convert all rows of an Arrow batch at once; raises as :meth:`apply` does, for the batch as a whole."""
        payloads = self._payloads.many(batch)
        if self._payloads.column is not None:
            payloads = [self._checked(payload) for payload in payloads]
        sizes = [len(payload) + self._overhead for payload in payloads]
        entries: Sequence[HttpEntry] = payloads
        if self._body == "single":
            entries = [self._keyed(each, context.sequence + row) for row, each in enumerate(payloads)]
        return ListBlock(entries, sizes)

    def _checked(self, payload: bytes) -> bytes:
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
