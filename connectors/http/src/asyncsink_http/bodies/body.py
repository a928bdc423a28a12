"""What a body is, whatever it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from asyncsink.blocks import EntryBlock
from asyncsink.request import RequestEntries
from asyncsink_http.bodies.framing import FORM, JSON_ARRAY, NDJSON, RAW, SINGLE, FramedBody
from asyncsink_http.entries.entry import HttpEntry, RowColumns
from asyncsink_http.options import HttpOptions

if TYPE_CHECKING:
    import pyarrow as pa


class Body(Protocol):
    """How payloads become the body of a request, and what they count. Picklable, and without state."""

    @property
    def content_type(self) -> str:
        """What the body is by default."""
        ...

    @property
    def overhead(self) -> int:
        """Bytes that a row counts beside its own: no body is larger than the sum of what its rows count."""
        ...

    @property
    def one_row(self) -> bool:
        """Whether a request carries a single row, and has that row's idempotency key."""
        ...

    def checked(self, payload: bytes) -> bytes:
        """The payload of one row.

        :raises ValueError: nothing of it would be seen in the body, or it would be seen as several rows
        """
        ...

    def encode(self, entries: RequestEntries[HttpEntry]) -> bytes:
        """The body for `entries`, before compression."""
        ...

    def block(self, payloads: pa.Array, rows: RowColumns | None) -> EntryBlock[HttpEntry]:
        """The entries of many rows at once, each :meth:`checked` and measured.

        :param payloads: large_binary, without nulls
        :param rows: what else is each row's own
        :raises ValueError: as :meth:`checked` does, for the block as a whole
        """
        ...


_BODIES: Final[Mapping[str, Body]] = {
    "json-array": JSON_ARRAY,
    "ndjson": NDJSON,
    "single": SINGLE,
    "form": FORM,
    "raw": RAW,
}


def body_of(options: HttpOptions) -> Body:
    """The body that resolved options ask for."""
    assert options.body is not None
    if options.body != "template":
        return _BODIES[options.body]
    separator = "," if options.template_separator is None else options.template_separator
    prefix, suffix = (options.template_prefix or "").encode(), (options.template_suffix or "").encode()
    return FramedBody("application/json", prefix, separator.encode(), suffix)
