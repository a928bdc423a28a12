"""Idempotency keys: of a row that makes a request of its own, and of a request."""

from __future__ import annotations

from hashlib import blake2b

from asyncsink.request import RequestEntries
from asyncsink_http.entries.entry import HttpEntry, Row


def row_key(prefix: str, sequence: int, payload: bytes) -> str:
    """The key of a row by its place and content.

    A replay that splits its rows otherwise has other rows in the same places, and they must not share a key.
    """
    return f"{prefix}{sequence}/{blake2b(payload, digest_size=8).hexdigest()}"


def request_key(entries: RequestEntries[HttpEntry]) -> str:
    """The key of a request: its row's own, else that of these rows in this order."""
    first = entries[0]
    return entries.id if not isinstance(first, Row) or first.key is None else first.key
