"""How a value is written into a text: one encoder for each kind of place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from asyncsink.json_text import encode_value

if TYPE_CHECKING:
    import pyarrow as pa


class Encoder(Protocol):
    """Writes single values and whole columns, in the same form. Picklable, and without state."""

    @property
    def only_text(self) -> bool:
        """Whether it takes only types with a plain text: strings, whole numbers, decimals, booleans and times."""
        ...

    def of(self, value: Any) -> str:
        """:raises ValueError: the value has no form here; says why in a clause"""
        ...

    def of_column(self, batch: pa.RecordBatch, column: str) -> pa.Array:
        """The values of a column, as large_string without nulls; raises as :meth:`of` does."""
        ...


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """Values as plain text, as JSON writes them but without quotes and escapes; null has no form.

    :param is_quoted: percent-encode all but letters, digits and ``-._~``, so that a value stays within a segment of a
        path or a value of a query (RFC 3986, 2.3)
    :param may_be_empty: False where an empty text would make the whole mean something else
    """

    is_quoted: bool = False
    may_be_empty: bool = True

    @property
    def only_text(self) -> bool:
        return True

    def of(self, value: Any) -> str:
        if value is None:
            raise ValueError("it is null; filter such rows out")
        text = plain_text(value)
        if not (text or self.may_be_empty):
            raise ValueError("it is empty, and the path would lead elsewhere; filter such rows out")
        return quote(text, safe="", errors="replace") if self.is_quoted else text

    def of_column(self, batch: pa.RecordBatch, column: str) -> pa.Array:
        from asyncsink_http.templates.columns import mapped

        return mapped(batch, column, self.of)


@dataclass(frozen=True, slots=True)
class JsonEncoder:
    """Values as JSON.

    :param may_be_null: False where null would make the whole mean something else
    """

    may_be_null: bool = True

    @property
    def only_text(self) -> bool:
        return False

    def of(self, value: Any) -> str:
        if value is None and not self.may_be_null:
            raise ValueError("it is null; filter such rows out")
        return encode_value(value)

    def of_column(self, batch: pa.RecordBatch, column: str) -> pa.Array:
        from asyncsink_http.templates.columns import json_values

        if batch.column(column).null_count:
            self.of(None)
        return json_values(batch, column)


@dataclass(frozen=True, slots=True)
class ReadyEncoder:
    """Bytes or strings that are ready, as they are."""

    @property
    def only_text(self) -> bool:
        return True

    def of(self, value: Any) -> str:
        return value if isinstance(value, str) else bytes(value).decode(errors="replace")

    def of_column(self, batch: pa.RecordBatch, column: str) -> pa.Array:
        from asyncsink_http.templates.columns import ready_values

        return ready_values(batch, column)


TEXT: Final = TextEncoder()
PATH: Final = TextEncoder(is_quoted=True, may_be_empty=False)
QUERY: Final = TextEncoder(is_quoted=True)
JSON: Final = JsonEncoder()
JSON_KEY: Final = JsonEncoder(may_be_null=False)
READY: Final = ReadyEncoder()


def plain_text(value: Any) -> str:
    """A string as it is, any other scalar as JSON writes it, without quotes.

    :raises ValueError: it is no scalar, or has no exact text
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float | bytes | bytearray | memoryview | dict | list | tuple):
        raise ValueError(f"it is of type {type(value).__name__}; cast it to a string")
    try:
        return encode_value(value).strip('"')
    except TypeError:
        raise ValueError(f"it is of type {type(value).__name__}; cast it to a string") from None
