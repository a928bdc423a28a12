"""What is said where a file system or S3 refuses something."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from asyncsink.errors import AsyncSinkError
from asyncsink.ledger.failure import cause, without_secrets
from asyncsink.ledger.writing import code_of

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_RIGHTS: Final = (
    "let the credentials in the environment of Spark's driver and workers, which are not those of its own s3a, do "
    "s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject, "
    "s3:AbortMultipartUpload and s3:ListMultipartUploadParts in the folder"
)
_BUSY: Final = "let fewer tasks write at once, or raise AWS_MAX_ATTEMPTS, then start the job again"
_OF_CODES: Final = {
    "NoSuchBucket": "make the bucket, or name one that is there",
    "NoSuchUpload": "a later attempt has taken this one for dead and goes on in its place; there is nothing to do",
    "SlowDown": _BUSY,
    "ServiceUnavailable": _BUSY,
}


@contextmanager
def told(operation: str, location: str, kind: type[AsyncSinkError]) -> Iterator[None]:
    """Turn what a storage raises into an error of this kind.

    :param operation: a verb with its object, as in "cannot write files"
    :param location: the folder, for messages
    """
    try:
        yield
    except OSError as error:
        raise kind(refusal(operation, location, error)) from without_secrets(error)


def refusal(operation: str, location: str, error: BaseException) -> str:
    """The sentence: what cannot be done where, the cause and the remedy."""
    if "://" in location:
        return f"cannot {operation} in {location}: {cause(error)}; {_remedy_on_s3(error)}"
    said = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    where = getattr(error, "filename", None) or location
    return f"cannot {operation} in {location}: {said} ({where}); {_remedy(error)}"


def _remedy_on_s3(error: BaseException) -> str:
    if isinstance(error, PermissionError):
        return _RIGHTS
    return _OF_CODES.get(
        code_of(error),
        "make sure that credentials, region and endpoint stand in the environment of Spark's driver and workers, and "
        "that S3 can be reached from there, then start the job again",
    )


def _remedy(error: BaseException) -> str:
    if isinstance(error, PermissionError):
        return "let the user that Spark's driver and workers run as list, write and remove files there"
    if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
        return "a file stands where a folder belongs, or a folder where a file does: move it, or name another path"
    if isinstance(error, OSError) and error.errno in _FULL:
        return "make room there, then start the job again"
    return "see to the disk or the mount, then start the job again"
