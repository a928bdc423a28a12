"""The entry of an HTTP request: one row's payload, and what else is the row's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from asyncsink_http.entries.target import Target


class Row(NamedTuple):
    """A payload with what its row alone decides; None stands for what the options say of all.

    :param target: whom it goes to; rows of different targets never share a request
    :param key: the row's idempotency key, where it makes a request of its own. By default it is
        ``<query>/<batch>/<partition>/<sequence>/<digest of the payload>``: a replay of the same micro-batch repeats it
        for the same row in the same place, and another row there has another
    """

    payload: bytes
    target: Target | None = None
    key: str | None = None


HttpEntry = bytes | Row
"""One row's payload: bytes wherever one target and one key of the request serve, which is the hot path."""


class RowColumns(NamedTuple):
    """What of the rows of a block is not payload, by column; None where the options decide it for all.

    :param targets: the distinct ones, and for each row the index of its own among them
    """

    targets: tuple[Sequence[Target], Sequence[int]] | None = None
    keys: Sequence[str] | None = None


def payload_of(entry: HttpEntry) -> bytes:
    """The bytes of an entry that are sent."""
    return entry.payload if isinstance(entry, Row) else entry
