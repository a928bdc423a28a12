"""What is said where a file system refuses something."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from asyncsink.errors import AsyncSinkError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def told(operation: str, location: str, kind: type[AsyncSinkError]) -> Iterator[None]:
    """Turn what a storage raises into an error of this kind.

    :param operation: a verb with its object, as in "cannot write files"
    :param location: the folder, for messages
    """
    try:
        yield
    except OSError as error:
        where = error.filename or location
        said = error.strerror or str(error)
        raise kind(f"cannot {operation} in {location}: {said} ({where}); {_remedy(error)}") from error


def _remedy(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "let the user that Spark's driver and workers run as list, write and remove files there"
    if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
        return "a file stands where a folder belongs, or a folder where a file does: move it, or name another path"
    if error.errno in _FULL:
        return "make room there, then start the job again"
    return "see to the disk or the mount, then start the job again"
