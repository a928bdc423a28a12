"""From rows to entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock
from asyncsink.context import InitContext, Schema, WriteContext, idempotency_prefix
from asyncsink.converter import ElementConverter
from asyncsink_http.bodies.body import Body
from asyncsink_http.bodies.payloads import payloads_of
from asyncsink_http.entries.entry import HttpEntry, Row, RowColumns
from asyncsink_http.entries.row_columns import PAYLOAD_COLUMNS, NamedColumns, excluded
from asyncsink_http.entries.target import Target
from asyncsink_http.entries.targets import Targets
from asyncsink_http.options import HttpOptions
from asyncsink_http.options.header_rules import is_header_value
from asyncsink_http.requests.idempotency import row_key
from asyncsink_http.templates.encoders import TEXT

if TYPE_CHECKING:
    import pyarrow as pa


class HttpConverter(ElementConverter[Any, HttpEntry]):
    """Makes entries of rows, or of payloads that are ready.

    Rows with a schema: the column ``body`` or ``value``, string or binary, if there is one, is the payload as it is,
    and beside it ``url``, ``method``, ``headers`` and ``idempotencyKey`` say of the row what options say of all; else
    the whole row becomes a JSON object. Elements without a schema: bytes and strings are payloads as they are, a
    mapping becomes a JSON object.

    :param options: resolved ones
    :raises SchemaError: a column has no form in JSON or in a template, is missing, or would not be sent
    """

    def __init__(self, schema: Schema | None, body: Body, options: HttpOptions) -> None:
        self._columns = columns = NamedColumns.of(schema, options)
        if schema is not None:
            columns.check(schema, options, one_row=body.one_row)
        targets = Targets(schema, options, columns, one_row=body.one_row)
        others = excluded(schema, options.excluded_columns)
        if columns.payload is not None:
            others += [name for name in (*columns.used, *targets.columns) if name != columns.payload]
        self._payloads = payloads_of(options, schema, PAYLOAD_COLUMNS, other_columns=others)
        self._targets = None if targets.are_fixed else targets
        self._only_deletes = options.method == "DELETE"
        self._body = body
        self._prefix: str | None = None

    def open(self, context: InitContext) -> None:
        self._prefix = idempotency_prefix(context)

    def apply(self, element: Any, context: WriteContext) -> HttpEntry:
        """Convert one row or payload.

        :raises TypeError: it is none, or one of its values has no form in JSON
        :raises ValueError: its payload is null, the body cannot carry it, or it cannot go where its columns lead
        """
        target = None if self._targets is None else self._target(element)
        payload = self._body.checked(self._payload(element, target))
        if self._body.one_row:
            return Row(payload, target, self._key(element, payload, target, context.sequence))
        return payload if target is None else Row(payload, target)

    def apply_batch(self, batch: pa.RecordBatch, context: WriteContext) -> EntryBlock[HttpEntry]:
        """Convert all rows of an Arrow batch at once; raises as :meth:`apply` does, for the batch as a whole."""
        targets = None if self._targets is None else self._targets.of_batch(batch)
        payloads = self._payloads.column_of(self._without_null_deletes(batch, targets))
        if not self._body.one_row:
            return self._body.block(payloads, None if targets is None else RowColumns(targets))
        return self._body.block(payloads, RowColumns(targets, self._keys(batch, payloads, targets, context.sequence)))

    def _target(self, element: Any) -> Target:
        assert self._targets is not None
        if isinstance(element, Mapping):
            return self._targets.of(element)
        raise TypeError(
            f"an element of type {type(element).__name__} has no columns, and the templates of the options need "
            f"{', '.join(map(repr, self._targets.columns))}; write mappings"
        )

    def _payload(self, element: Any, target: Target | None) -> bytes:
        name = self._columns.payload
        # A DELETE carries no body, so that there need not be any.
        if name is not None and isinstance(element, Mapping) and element[name] is None and self._deletes(target):
            return b""
        return self._payloads.of(element)

    def _deletes(self, target: Target | None) -> bool:
        return self._only_deletes if target is None else target.method == "DELETE"

    def _without_null_deletes(self, batch: pa.RecordBatch, targets: tuple[list[Target], Any] | None) -> pa.RecordBatch:
        name = self._columns.payload
        if name is None or not batch.column(name).null_count:
            return batch
        if targets is None:
            deleted = [self._only_deletes] * batch.num_rows
        else:
            deleted = [targets[0][index].method == "DELETE" for index in targets[1].tolist()]
        if not any(deleted):
            return batch
        from asyncsink_http.templates.columns import filled

        return filled(batch, name, deleted)

    def _key(self, element: Any, payload: bytes, target: Target | None, sequence: int) -> str:
        if self._columns.key is not None and isinstance(element, Mapping):
            return self._checked_key(element[self._columns.key])
        return row_key(self._opened(), sequence, payload, target)

    def _keys(
        self, batch: pa.RecordBatch, payloads: pa.Array, targets: tuple[list[Target], Any] | None, sequence: int
    ) -> list[str]:
        if self._columns.key is not None:
            found = TEXT.of_column(batch, self._columns.key) if not batch.column(self._columns.key).null_count else None
            return [self._checked_key(key) for key in ([None] if found is None else found.to_pylist())]
        prefix = self._opened()
        own = [None] * len(payloads) if targets is None else [targets[0][each] for each in targets[1].tolist()]
        rows = enumerate(zip(payloads.to_pylist(), own, strict=True))
        return [row_key(prefix, sequence + row, payload, target) for row, (payload, target) in rows]

    def _checked_key(self, value: Any) -> str:
        key = "" if value is None else TEXT.of(value)
        if not key or not is_header_value(key):
            raise ValueError(
                f"column {self._columns.key!r} is null, empty or no value of a header; give each row a key of its "
                "own, or drop the column"
            )
        return key

    def _opened(self) -> str:
        if self._prefix is None:
            raise RuntimeError("HttpConverter.open(context) must be called before rows are converted")
        return self._prefix
