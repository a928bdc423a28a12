"""Idempotency keys: of a row that makes a request of its own, and of a request."""

from __future__ import annotations

from hashlib import blake2b

from asyncsink.request import RequestEntries
from asyncsink_http.entries.entry import HttpEntry, Row
from asyncsink_http.entries.target import Target


def row_key(prefix: str, sequence: int, payload: bytes, target: Target | None = None) -> str:
    """The key of a row by its place, its content, and whom it goes to if that is its own.

    A replay that splits its rows otherwise has other rows in the same places, and they must not share a key.
    """
    return f"{prefix}{sequence}/{_digest(_packed(target) + payload)}"


def request_key(entries: RequestEntries[HttpEntry], body: bytes, *, is_repeated: bool) -> str:
    """The key of a request: its row's own, else that of these rows in this order.

    :param body: before compression, which another release of a library may do otherwise
    :param is_repeated: whether a replay gives the same id to the rows in the same places. These may be others if the
        source is not what it was, and must not meet a key under which the first ones are stored: one that fails to
        repeat shows as a duplicate, one that repeats wrongly would lose rows without a trace
    """
    if len(entries) == 1:
        entry = entries[0]
        if isinstance(entry, Row) and entry.key is not None:
            return entry.key
    if not is_repeated:
        return entries.id
    route = entries.route
    return f"{entries.id}/{_digest(_packed(route if isinstance(route, Target) else None) + body)}"


def _packed(target: Target | None) -> bytes:
    """What the address alone tells of a row, such as of one that is deleted, and is in no body."""
    return b"" if target is None else target.packed()


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
