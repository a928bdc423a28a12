"""The JSON of the ledger's files: an object that says of which kind and version it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from asyncsink.errors import LedgerError

T = TypeVar("T")

VERSION: Final = 1
"""Of every file that this release writes; it reads this one and those below."""


def encode(kind: str, fields: Mapping[str, Any]) -> bytes:
    """The bytes of a file of the ledger."""
    return json.dumps({"kind": kind, "version": VERSION, **fields}, separators=(",", ":")).encode()


def decode(kind: str, data: bytes, where: str, read: Callable[[Mapping[str, Any]], T], without: str) -> T:
    """What `read` makes of a file's fields.

    :param where: the file, for messages
    :param without: what to do about a damaged file that cannot be restored, and what follows from it
    :raises LedgerError: the file is damaged, is another one, or a newer release has written it
    """
    try:
        fields = json.loads(data)
        found, version = fields["kind"], fields["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError(_damaged(where, error, without)) from error
    if found != kind:
        raise LedgerError(f"{where} is a file of kind {found!r}, not {kind!r}; was it copied from elsewhere?")
    if not isinstance(version, int) or version > VERSION:
        raise LedgerError(
            f"{where} has version {version!r}, this release reads up to {VERSION}; use the release of asyncsink-core "
            "that wrote it, or a newer one"
        )
    try:
        return read(fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(_damaged(where, error, without)) from error


def _damaged(where: str, error: Exception, without: str) -> str:
    return f"{where} is damaged ({type(error).__name__}: {error}); restore it, or {without}"
