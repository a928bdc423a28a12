"""What is said where the store of a ledger fails."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from asyncsink.errors import LedgerError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_USER_INFO: Final = re.compile(r"(?<=://)[^/\s]*@")
_QUERY: Final = re.compile(r"\?[^\s'\"]*")
_MESSAGE_LENGTH: Final = 200


@contextmanager
def told(operation: str, name: str, location: str) -> Iterator[None]:
    """Turn whatever a back end raises into a :class:`LedgerError` that is chained to it.

    :param operation: a verb, as in "cannot replace"
    """
    try:
        yield
    except LedgerError:
        raise
    except Exception as error:  # clients of object stores have errors of every kind
        raise LedgerError(
            f"the ledger cannot {operation} {name!r} in {location}: {cause(error)}; {_remedy(error)}"
        ) from error


def cause(error: BaseException) -> str:
    """An error in one line, without what may be secret in the URLs that clients put into their messages."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = _QUERY.sub("?***", _USER_INFO.sub("***@", (said.splitlines() or [""])[0]))[:_MESSAGE_LENGTH]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _remedy(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return (
            "let this process read, write, list and remove files there (S3 refuses reads of what does not exist to "
            "those who may not list)"
        )
    if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
        return "a file stands where a folder belongs, or a folder where a file does: move it, or name another place"
    if isinstance(error, FileNotFoundError):
        return "make the bucket or the file system, or name one that is there"
    if isinstance(error, OSError) and error.errno in _FULL:
        return "make room there"
    return "make sure that it can be reached and written to, then start the query again"
