"""What is said where the store of a ledger fails."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception_only
from typing import Final

from asyncsink.errors import LedgerError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
# A password may hold slashes, as keys of AWS do: after a colon all up to the last @ is taken for it.
_PASSWORD: Final = re.compile(r"(?<=://)[^/?\s]*:[^?\s]*@")
_USER_INFO: Final = re.compile(r"(?<=://)[^/\s]*@")
_QUERY: Final = re.compile(r"\?[^\s'\"]*")
_MESSAGE_LENGTH: Final = 200


@contextmanager
def told(operation: str, name: str, location: str, access: str = "") -> Iterator[None]:
    """Turn whatever a back end raises into a :class:`LedgerError` that is chained to it, less what may be secret.

    :param operation: a verb, as in "cannot replace"
    :param access: what the remedy adds where the store could not be reached, or has refused
    """
    try:
        yield
    except LedgerError:
        raise
    except Exception as error:  # clients of object stores have errors of every kind
        raise LedgerError(
            f"the ledger cannot {operation} {name!r} in {location}: {cause(error)}; {_remedy(error, access)}"
        ) from without_secrets(error)


def cause(error: BaseException) -> str:
    """An error in one line, without what may be secret in the URLs that clients put into their messages."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = _masked((said.splitlines() or [""])[0])[:_MESSAGE_LENGTH]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def without_secrets(error: BaseException) -> BaseException:
    """The error, to be chained to; a copy if it, or one that led to it, has said what may be secret.

    Spark shows tracebacks whole. A copy has the names of the types and the frames, and no more of the errors than
    their masked text.
    """
    chain = [error]
    while (before := _before(chain[-1])) is not None and all(before is not each for each in chain):
        chain.append(before)
    if all(_masked(said) == said for each in chain for said in format_exception_only(each)):
        return error
    copy: BaseException | None = None
    for each in reversed(chain):
        copy = _copy(each, copy)
    return copy or error


def _before(error: BaseException) -> BaseException | None:
    """What a traceback shows above the error."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _copy(error: BaseException, before: BaseException | None) -> BaseException:
    kind = type(type(error).__name__, (Exception,), {"__module__": type(error).__module__})
    copy: BaseException = kind(_masked(str(error))).with_traceback(error.__traceback__)
    for note in getattr(error, "__notes__", ()):
        copy.add_note(_masked(note))
    copy.__cause__ = before
    return copy


def _masked(said: str) -> str:
    return _QUERY.sub("?***", _USER_INFO.sub("***@", _PASSWORD.sub("***@", said)))


def _remedy(error: Exception, access: str) -> str:
    if isinstance(error, PermissionError):
        return (
            "let this process read, write, list and remove files there (S3 refuses reads of what does not exist to "
            f"those who may not list){access}"
        )
    if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
        return "a file stands where a folder belongs, or a folder where a file does: move it, or name another place"
    if isinstance(error, FileNotFoundError):
        return "make the bucket or the file system, or name one that is there"
    if isinstance(error, OSError) and error.errno in _FULL:
        return "make room there"
    return f"make sure that it can be reached and written to, then start the query again{access}"
