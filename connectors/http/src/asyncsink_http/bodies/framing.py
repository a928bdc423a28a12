"""Bodies that are the payloads of rows, with something before, between and behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from asyncsink.blocks import EntryBlock, ListBlock
from asyncsink.request import RequestEntries
from asyncsink_http.entries.entry import HttpEntry, Row, RowColumns, payload_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FramedBody:
    """Payloads with a separator between two, behind a prefix and before a suffix.

    :param one_line: whether a line break ends a row, so that no payload may hold one
    """

    content_type: str
    prefix: bytes
    separator: bytes
    suffix: bytes
    one_line: bool = False

    @property
    def one_row(self) -> bool:
        return False

    @property
    def overhead(self) -> int:
        """As much as a request of one row needs, or each further row of another.

        ndjson adds a line end to each. json-array adds a comma between two and two brackets around all: counted as
        two for each row, which is a byte too many for every one but the first.
        """
        return max(len(self.prefix) + len(self.suffix), len(self.separator))

    def checked(self, payload: bytes) -> bytes:
        if not payload.strip():
            raise ValueError(
                "the payload is empty, and between others nothing of it would be seen; filter such rows out, or set "
                "body=single"
            )
        if self.one_line and b"\n" in payload:
            raise ValueError(
                "the payload holds a line break, which ends a row in an ndjson body; write the row's JSON in one line, "
                "or set body=json-array"
            )
        return payload

    def encode(self, entries: RequestEntries[HttpEntry]) -> bytes:
        block = entries.block
        rows: bytes | memoryview | None = _joined(block, self.separator)
        if rows is None:
            rows = self.separator.join([entry.payload if isinstance(entry, Row) else entry for entry in block])
        return b"".join((self.prefix, rows, self.suffix))

    def block(self, payloads: pa.Array, rows: RowColumns | None) -> EntryBlock[HttpEntry]:
        from asyncsink_http.bodies.arrow_rows import may_be_refused, rows_of_payloads

        if may_be_refused(payloads, one_line=self.one_line):
            for payload in payloads.to_pylist():
                self.checked(payload)
        if rows is not None and rows.keys is not None:
            return list_block(payloads.to_pylist(), self.overhead, rows)
        return rows_of_payloads(payloads, self.separator, self.overhead, None if rows is None else rows.targets)


@dataclass(frozen=True, slots=True)
class SingleBody:
    """The payload of a row as it is, which may be empty."""

    content_type: str

    @property
    def one_row(self) -> bool:
        return True

    @property
    def overhead(self) -> int:
        return 0

    def checked(self, payload: bytes) -> bytes:
        return payload

    def encode(self, entries: RequestEntries[HttpEntry]) -> bytes:
        (entry,) = entries
        return payload_of(entry)

    def block(self, payloads: pa.Array, rows: RowColumns | None) -> ListBlock[HttpEntry]:
        # A request costs a thousand times what the objects of its row do.
        return list_block(payloads.to_pylist(), self.overhead, rows)


JSON_ARRAY: Final = FramedBody("application/json", b"[", b",", b"]")
NDJSON: Final = FramedBody("application/x-ndjson", b"", b"\n", b"\n", one_line=True)
SINGLE: Final = SingleBody("application/json")
FORM: Final = SingleBody("application/x-www-form-urlencoded")
RAW: Final = SingleBody("application/octet-stream")


def list_block(payloads: list[bytes], overhead: int, rows: RowColumns | None) -> ListBlock[HttpEntry]:
    """A block of payloads as Python's bytes, with what else is each row's own."""
    sizes = [len(payload) + overhead for payload in payloads]
    if rows is None or (rows.targets is None and rows.keys is None):
        return ListBlock(payloads, sizes)
    targets = [None] * len(payloads) if rows.targets is None else [rows.targets[0][each] for each in rows.targets[1]]
    keys = [None] * len(payloads) if rows.keys is None else rows.keys
    entries = [Row(*each) for each in zip(payloads, targets, keys, strict=True)]
    return ListBlock(entries, sizes, routes=rows.targets)


def _joined(block: Any, separator: bytes) -> memoryview | None:
    """The payloads of a block with separators between them as they lie in memory; None where they do not lie so."""
    batch = getattr(block, "batch", None)
    if batch is None:
        return None
    from asyncsink_http.bodies.arrow_rows import joined_rows

    return joined_rows(batch, separator)
