"""Payloads by ``template.row``: a row as its template shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from asyncsink.context import Schema
from asyncsink.errors import ConfigurationError
from asyncsink.payloads import Payloads
from asyncsink_http.templates.encoders import JSON, JSON_KEY, READY
from asyncsink_http.templates.template import Template

if TYPE_CHECKING:
    import pyarrow as pa

_ROW: Final = "row"
_OPTION: Final = "template.row"


def row_template(text: str | None, keys: Sequence[str] = ()) -> Template:
    """The template of a row: ``{row}`` is its payload, and unless there is another text all of it.

    :param keys: columns whose values may not be null
    :raises ConfigurationError: it is no template, or every row would be the same
    """
    template = Template.parse(
        _OPTION, "{row}" if text is None else text, JSON, {**dict.fromkeys(keys, JSON_KEY), _ROW: READY}
    )
    if not template.columns:
        raise ConfigurationError(
            f"option {_OPTION!r} = {text!r} has no place for anything of a row, so that all would be the same; write "
            "{row} for the row as JSON, or {name} for the value of a column"
        )
    return template


class TemplatePayloads:
    """The payloads of rows, each in its place in a template.

    Where line breaks part what is sent, a payload that comes ready must hold none: it would be read as rows, or as
    commands to a server, that the template does not show. Values and rows that become JSON never have any.

    :param separator: between two rows, None for the default
    :param is_json: whether what the template makes of rows is JSON: a payload that comes ready must be one value then,
        or a server would read two rows where there is one, and tell of others than are meant
    """

    def __init__(
        self,
        template: Template,
        separator: str | None,
        schema: Schema | None,
        names: Sequence[str],
        other_columns: Sequence[str],
        *,
        is_json: bool = False,
    ) -> None:
        self._is_json = is_json
        self._template = template.bound(schema, given=(_ROW,))
        self._has_row = _ROW in self._template.columns
        self._is_row = self._has_row and self._template.is_one_column
        self._one_line = "\n" in self._template.literal + (separator or "")
        self._payloads = _payloads(self._template, schema, names, other_columns) if self._has_row else None

    @property
    def column(self) -> str | None:
        return None if self._payloads is None else self._payloads.column

    def of(self, element: Any) -> bytes:
        values = element if isinstance(element, Mapping) else {}
        if self._payloads is not None:
            payload = self._payloads.of(element)
            if self.column is not None or not isinstance(element, Mapping):
                self._check_ready(payload)
            if self._is_row:
                return payload
            values = {**values, _ROW: payload}
        return self._template.render(values).encode(errors="replace")

    def column_of(self, batch: Any) -> pa.Array:
        import pyarrow as pa

        if self._payloads is not None:
            payloads = self._payloads.column_of(batch)
            if self.column is not None:
                self._check_all_ready(payloads)
            if self._is_row:
                return payloads
            batch = _with_column(batch, payloads)
        return self._template.render_columns(batch).view(pa.large_binary())

    def _check_ready(self, payload: bytes) -> None:
        if self._one_line and b"\n" in payload:
            raise ValueError(
                "the payload holds a line break, and in this template line breaks part what is sent; write the row's "
                "JSON in one line"
            )
        if self._is_json and not _is_json(payload):
            raise ValueError(
                "the payload is no JSON value, and this preset writes it into a JSON object; write JSON, or rename the "
                "column so that the whole row becomes it"
            )

    def _check_all_ready(self, payloads: pa.Array) -> None:
        from asyncsink_http.bodies.arrow_rows import holds

        if self._is_json or (self._one_line and holds(payloads, b"\n")):
            for payload in payloads.to_pylist():
                self._check_ready(payload)


def _is_json(payload: bytes) -> bool:
    try:
        json.loads(payload.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _payloads(template: Template, schema: Schema | None, names: Sequence[str], others: Sequence[str]) -> Payloads:
    """Payloads for ``{row}``: beside one that comes ready, the columns of the template are used for that alone."""
    found = [] if schema is None else [schema.find(name) for name in names]
    ready = next((column.name for column in found if column is not None), None)
    used = [] if ready is None else [name for name in template.columns if name not in (_ROW, ready)]
    return Payloads(schema, names, other_columns=[*others, *used])


def _with_column(batch: Any, payloads: pa.Array) -> Any:
    """The batch with the payloads as its column ``row``, whatever it had under that name."""
    import pyarrow as pa

    names = [name for name in batch.schema.names if name != _ROW]
    return pa.RecordBatch.from_arrays([*(batch.column(name) for name in names), payloads], [*names, _ROW])
