"""Folders that take files of dead letters so that they outlive a crash. Everything here blocks: call it in a thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Protocol


class Folder(Protocol):
    """Takes the files of one writer."""

    def prepare(self) -> None:
        """Make sure, as far as that is cheap, that files can be written."""

    def write(self, data: bytes) -> None:
        """Keep `data`; it is durable when this returns."""

    def close(self) -> None:
        """Give up what is open."""


class AppendingFolder:
    """A folder of this machine with one growing file, made when it is first needed.

    A crash may leave the last write incomplete, but nothing of those before it.
    """

    def __init__(self, folder: Path, name_of: Callable[[], str]) -> None:
        self._folder, self._name_of = folder, name_of
        self._file: int | None = None
        # A native cancellation leaves the thread behind that writes: the file must not be closed under it.
        self._lock = Lock()

    def prepare(self) -> None:
        make_folder(self._folder)

    def write(self, data: bytes) -> None:
        with self._lock:
            try:
                if self._file is None:
                    make_folder(self._folder)
                    self._file = _create(self._folder / self._name_of())
                    sync_folder(self._folder)
                _write_all(self._file, data)
                os.fsync(self._file)
            except OSError:
                # It may end with half a line, or be broken in ways that a second fsync would not tell: it is left
                # as it is, and a further write starts another file.
                self._close()
                raise

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


class RenamingFolder:
    """A folder of this machine with a finished file for each write: it is written aside, then gets its name."""

    def __init__(self, folder: Path, name_of: Callable[[], str]) -> None:
        self._folder, self._name_of = folder, name_of

    def prepare(self) -> None:
        make_folder(self._folder)

    def write(self, data: bytes) -> None:
        make_folder(self._folder)
        name = self._name_of()
        aside = self._folder / f".{name}.tmp"
        try:
            file = _create(aside)
            try:
                _write_all(file, data)
                os.fsync(file)
            finally:
                os.close(file)
            aside.rename(self._folder / name)
        except OSError:
            with suppress(OSError):
                aside.unlink()
            raise
        sync_folder(self._folder)

    def close(self) -> None:
        """Nothing is open between writes."""


class RemoteFolder:
    """A folder of any fsspec file system with a finished object for each write: few of them can append.

    :param filesystem: fsspec's; an object exists, whole, when its ``pipe_file`` returns
    """

    def __init__(self, filesystem: Any, root: str, name_of: Callable[[], str]) -> None:
        self._filesystem, self._root, self._name_of = filesystem, root, name_of

    def prepare(self) -> None:
        """Nothing: object stores have no folders, and asking them may need a right that writing does not."""

    def write(self, data: bytes) -> None:
        path = f"{self._root}/{self._name_of()}"
        try:
            self._filesystem.pipe_file(path, data)
        except FileNotFoundError:  # a file system with folders
            self._filesystem.makedirs(self._root, exist_ok=True)
            self._filesystem.pipe_file(path, data)

    def close(self) -> None:
        """Nothing is open between writes."""


def make_folder(folder: Path) -> None:
    """Make a folder with those above it, each durable in the one that holds it.

    :raises OSError: it cannot be made, or not be written to
    """
    if not folder.is_dir():
        make_folders(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "the folder may not be written to", str(folder))


def make_folders(folder: Path) -> None:
    """Make a folder with those above it, each durable in the one that holds it; whether it can be used is not asked."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
