"""How kinds of file systems write a file so that nobody sees half of it."""

from __future__ import annotations

import glob
from contextlib import suppress
from typing import Any, ClassVar, Final, Protocol

from asyncsink.ledger.naming import aside

_CONFLICTS: Final = 10
"""Times that a conditional put is sent while S3 answers that another one is under way."""


class Writing(Protocol):
    """How a kind of file system keeps whole files, by full paths. Raises what the file system raises.

    :cvar writes_aside: whether a writer that is killed may leave files of another name
    """

    writes_aside: ClassVar[bool]

    def read(self, path: str) -> bytes | None:
        """The contents, whole; None if there is no file."""

    def replace(self, path: str, data: bytes) -> None:
        """Set the contents; who reads meanwhile sees the old ones or the new ones."""

    def create(self, path: str, data: bytes) -> bool:
        """Set the contents unless there is a file. The caller finds out whether the file system can do that."""

    def remove(self, *paths: str) -> None:
        """Remove files, those of them that there are."""


def writing(filesystem: Any) -> Writing | None:
    """The way to write whole files in an fsspec file system; None if it has none.

    fsspec's own ``pipe_file`` writes a file bit by bit, and its own ``mv`` copies: only a back end that has its own has
    a put or a rename behind it.
    """
    from fsspec.asyn import AsyncFileSystem
    from fsspec.spec import AbstractFileSystem

    kind = type(filesystem)
    if _has_its_own(kind, "_pipe_file", AsyncFileSystem) or (
        not issubclass(kind, AsyncFileSystem) and _has_its_own(kind, "pipe_file", AbstractFileSystem)
    ):
        return Objects(filesystem)
    return Renaming(filesystem) if _has_its_own(kind, "mv", AbstractFileSystem) else None


def _has_its_own(kind: type, method: str, base: type) -> bool:
    return getattr(kind, method, None) is not getattr(base, method, None) and issubclass(kind, base)


class Objects:
    """An object store: a put replaces atomically, and one with a condition creates exclusively."""

    writes_aside: ClassVar[bool] = False

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def read(self, path: str) -> bytes | None:
        """The contents of an object; None if there is none."""
        try:
            return bytes(self._filesystem.cat_file(path))
        except FileNotFoundError as error:
            # Who took a bucket that is missing for an empty one would begin again from nothing.
            if code_of(error) == "NoSuchBucket":
                raise
            return None

    def replace(self, path: str, data: bytes) -> None:
        """Put an object."""
        self._filesystem.pipe_file(path, data)

    def create(self, path: str, data: bytes) -> bool:
        """Put an object on the condition that there is none."""
        for _ in range(_CONFLICTS):
            try:
                self._filesystem.pipe_file(path, data, mode="create")
            except FileExistsError:
                return False
            except OSError as error:
                # Stores that imitate S3 say less of which condition failed than s3fs looks for.
                if code_of(error) in ("PreconditionFailed", "412"):
                    return False
                if code_of(error) not in ("ConditionalRequestConflict", "409"):
                    raise
                conflict = error
            else:
                return True
        raise conflict

    def remove(self, *paths: str) -> None:
        """Delete objects, those of them that there are; many by one request where the back end can."""
        # fsspec takes each of many for a pattern, which could be another query's files.
        if len(paths) > 1 and all(glob.escape(path) == path for path in paths):
            with suppress(FileNotFoundError):
                self._filesystem.rm([*paths])
            return
        for path in paths:
            _remove(self._filesystem, path)


class Renaming:
    """A file system with folders that renames atomically, such as HDFS. A write goes aside, and is then renamed.

    HDFS renames onto no other file. There the old file is first set aside under a name of its own, by which it is read
    if the writer is killed before the new one has its name.
    """

    writes_aside: ClassVar[bool] = True

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def read(self, path: str) -> bytes | None:
        """The contents of a file; None if there is none."""
        for each in (path, _old(path), path):
            with suppress(FileNotFoundError):
                return bytes(self._filesystem.cat_file(each))
        return None

    def replace(self, path: str, data: bytes) -> None:
        """Rename a file that is written aside; where that is refused, make way for it first."""
        written = self._written_aside(path, data)
        try:
            if not self._renamed(written, path):
                _remove(self._filesystem, _old(path))
                if not self._renamed(path, _old(path)) or not self._renamed(written, path):
                    raise OSError("another process has written it meanwhile")
            _remove(self._filesystem, _old(path))
        except BaseException:
            _remove(self._filesystem, written)
            raise

    def create(self, path: str, data: bytes) -> bool:
        """Rename a file that is written aside; where renaming refuses to replace, this is exclusive."""
        if self._filesystem.exists(_old(path)):
            return False
        written = self._written_aside(path, data)
        if self._renamed(written, path):
            return True
        _remove(self._filesystem, written)
        return False

    def remove(self, *paths: str) -> None:
        """Remove files, those of them that there are, and before each what would be read in its place."""
        for path in paths:
            _remove(self._filesystem, _old(path))
            _remove(self._filesystem, path)

    def _written_aside(self, path: str, data: bytes) -> str:
        written = aside(path)
        self._filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            self._filesystem.pipe_file(written, data)
        except BaseException:
            _remove(self._filesystem, written)
            raise
        return written

    def _renamed(self, source: str, target: str) -> bool:
        """Whether `source` has become `target`; False if there is a target already, and it may not be replaced."""
        try:
            self._filesystem.mv(source, target)
        except OSError:
            if self._filesystem.exists(source) and self._filesystem.exists(target):
                return False
            raise
        # WebHDFS answers with a word that its back end does not read.
        return not self._filesystem.exists(source)


def _remove(filesystem: Any, path: str) -> None:
    with suppress(FileNotFoundError):
        filesystem.rm_file(path)


def _old(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.old"


def code_of(error: BaseException) -> str:
    """The service's own code of an error, if botocore or another client has left it."""
    cause = error.__cause__ or error
    response = getattr(cause, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", ""))
    return str(getattr(cause, "status", "") or getattr(cause, "status_code", ""))
