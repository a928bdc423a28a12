"""One entry or element that can never be delivered, with what is needed to send it again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SCHEMA_VERSION: Final = 1
"""The version of the letters that this release writes; it reads this one and all before it."""


class DeadLetterReason(StrEnum):
    """Why an entry or element was given up."""

    REJECTED = "rejected"
    """The destination refused it for what it holds."""
    EXHAUSTED = "exhausted"
    """It failed in ``retry.max_attempts`` requests."""
    OVERSIZED = "oversized"
    """It is larger than ``max_record_size_in_bytes``, and was never sent."""
    CONVERSION = "conversion"
    """The :class:`~asyncsink.ElementConverter` raised, so that there is no entry, only the element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One entry or element that can never be delivered.

    Stored under the same names as a line of JSON (bytes as base64) or as a row of Parquet:

    ================== ======= ======================================================================================
    schema_version     int     of this table: 1; a reader refuses a newer one
    reason             string  ``rejected``, ``exhausted``, ``oversized`` or ``conversion``
    code               string  of the last failure: the service's own, or the name of an error of asyncsink
    message            string  what the service, or the converter, said
    entry              bytes?  the entry, by the sink's ``entry_serializer``
    entry_version      int?    the version of that serializer; given exactly if `entry` is
    element            string? as JSON, where there is no `entry`: it could not be converted or not be serialised
    idempotency_id     string? ``query/batch/partition/sequence``, the same in a replay; null if it has none
    attempts           int     answers that it failed in by itself, with the one that refused it; 0 if it was never sent
    first_failed_at    int     ms since the epoch, UTC
    last_failed_at     int     ms since the epoch, UTC
    connector          string  the sink's class, as ``package.module.Class``
    route              string? the destination within the sink, as text
    query_id           string? of Spark's query
    batch_id           int?    of its micro-batch
    writer_id          int     Spark's partition
    attempt            int     tells the runs of Spark's task apart
    ================== ======= ======================================================================================

    Its texts are well-formed Unicode: a lone surrogate is kept as an escape such as ``\\udc80``.
    """

    schema_version: int = SCHEMA_VERSION
    reason: DeadLetterReason
    code: str
    message: str
    entry: bytes | None = None
    entry_version: int | None = None
    element: str | None = None
    idempotency_id: str | None = None
    attempts: int = 0
    first_failed_at: int
    last_failed_at: int
    connector: str
    route: str | None = None
    query_id: str | None = None
    batch_id: int | None = None
    writer_id: int = 0
    attempt: int = 0

    def __post_init__(self) -> None:
        for name in _TEXTS:
            text = getattr(self, name)
            if text is not None and not text.isascii():
                object.__setattr__(self, name, _well_formed(text))

    @property
    def size_in_bytes(self) -> int:
        """About what it weighs: the bytes of what could not be delivered, and of the message."""
        return len(self.entry or b"") + len(self.element or "") + len(self.message)


_TEXTS: Final = ("code", "message", "element", "idempotency_id", "connector", "route", "query_id")


def _well_formed(text: str) -> str:
    # UTF-16 joins the halves of a character that a decoder has left apart; what remains alone is no character.
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "backslashreplace").decode("utf-8")
