"""Files in a folder of this machine, or one that all machines mount."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from asyncsink.dead_letters.folders import make_folders, sync_folder

T = TypeVar("T")

_COPIED_AT_ONCE: Final = 1 << 20


class LocalFile:
    """A file that grows."""

    receipt = ""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self._path = name, path
        self._file: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        file, view = self._open(), memoryview(data)
        while view:
            written = os.write(file, view)
            self.size += written
            view = view[written:]
        return len(data)

    def sync(self) -> None:
        os.fsync(self._open())
        sync_folder(self._path.parent)

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def _open(self) -> int:
        if self._file is None:
            raise OSError(errno.EBADF, "the file is closed", str(self._path))
        return self._file


class LocalStorage:
    """Files beneath a folder; it is made when the first one is. A rename shows them."""

    keeps_open = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.location = str(folder)

    def begin(self, name: str, final: str) -> LocalFile:
        path = self._folder / name
        return _within_folder(path.parent, lambda: LocalFile(name, path))

    def resume(self, name: str, length: int, new_name: str) -> LocalFile:
        path = self._folder / name
        with path.open("rb") as earlier:
            file = self.begin(new_name, "")
            try:
                while file.size < length:
                    data = earlier.read(min(length - file.size, _COPIED_AT_ONCE))
                    if not data:
                        raise EOFError(f"{path} has {file.size} of {length} bytes")
                    file.write(data)
            except BaseException:
                file.close()
                raise
        return file

    def show(self, name: str, final: str, receipt: str) -> bool:
        try:
            (self._folder / name).rename(self._folder / final)
        except FileNotFoundError:
            return False
        return True

    def exists(self, name: str) -> bool:
        return (self._folder / name).exists()

    def mark(self, name: str) -> None:
        (self._folder / name).touch()

    def names(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._folder / folder) as entries:
                return sorted(each.name for each in entries if each.is_file(follow_symlinks=False))
        except FileNotFoundError:
            return []

    def remove(self, *names: str) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        # What is in it, or not there, is no reason to fail.
        with suppress(OSError):
            (self._folder / folder).rmdir()

    def sync(self, folder: str) -> None:
        sync_folder(self._folder / folder)


def _within_folder(folder: Path, make: Callable[[], T]) -> T:
    """What `make` makes in a folder, which may have to be made first. Another sink may just have removed it."""
    for _ in range(3):
        try:
            return make()
        except FileNotFoundError:
            make_folders(folder)
    return make()
