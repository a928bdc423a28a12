"""A ledger in a folder of this machine, or one that all machines mount."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from asyncsink.dead_letters.folders import make_folder, sync_folder
from asyncsink.errors import LedgerUnavailableError
from asyncsink.ledger.failure import told
from asyncsink.ledger.naming import PROBE, aside, checked, hidden, left_over

_NO_HARD_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}


class LocalStore:
    """Files of one folder. A write goes to a file aside, to the disk (``fsync``), and then gets its name."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self._folder = folder
        self.location = str(folder) if location is None else location

    def read(self, name: str) -> bytes | None:
        """The contents of a file; None if there is none."""
        path = self._path(name)
        with told("read", name, self.location):
            try:
                return path.read_bytes()
            except FileNotFoundError:
                return None

    def replace(self, name: str, data: bytes) -> None:
        """Set the contents of a file, atomically; durable when this returns."""
        path = self._path(name)
        with told("replace", name, self.location), self._written_aside(path, data) as written:
            written.replace(path)

    def create(self, name: str, data: bytes) -> bool:
        """Create a file whole, unless there is one: then False."""
        path = self._path(name)
        with told("create", name, self.location), self._written_aside(path, data) as written:
            return self._linked(written, path, f"create {name!r}")

    def prove_exclusive(self) -> None:
        """Make sure that files can have a second name, by which :meth:`create` is exclusive."""
        probe = self._folder / PROBE
        with told("create", PROBE, self.location), self._written_aside(probe, b"") as written:
            second = Path(aside(str(probe)))
            self._linked(written, second, "create files")
            second.unlink()

    def modified_s(self, name: str) -> float | None:
        """When a file was written; None if there is none."""
        path = self._path(name)
        with told("look at", name, self.location):
            try:
                return path.stat().st_mtime
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted; none if it does not exist."""
        return self._listed(folder, os.DirEntry.is_file)

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder, sorted; none if it does not exist."""
        return self._listed(folder, os.DirEntry.is_dir)

    def _listed(self, folder: str, is_wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
        path = self._path(folder) if folder else self._folder
        with told("list", folder or ".", self.location):
            try:
                with os.scandir(path) as entries:
                    return sorted(each.name for each in entries if not hidden(each.name) and is_wanted(each))
            except FileNotFoundError:
                return []

    def remove(self, *names: str) -> None:
        """Remove files, those of them that there are."""
        for name in names:
            path = self._path(name)
            with told("remove", name, self.location):
                path.unlink(missing_ok=True)

    def sweep(self, folder: str) -> None:
        """Remove what killed writers have left in a folder, after an hour."""
        path = self._path(folder) if folder else self._folder
        with told("sweep", folder or ".", self.location), suppress(FileNotFoundError):
            for each in [*path.iterdir()]:
                if left_over(each.name):
                    each.unlink(missing_ok=True)

    def within(self, folder: str) -> LocalStore:
        """The same store, one or more folders deeper."""
        return LocalStore(self._path(folder), f"{self.location.rstrip('/')}/{folder}")

    def _path(self, name: str) -> Path:
        return self._folder / checked(name)

    @contextmanager
    def _written_aside(self, path: Path, data: bytes) -> Iterator[Path]:
        """A durable file beside `path`, which is there for the block; then the folder is made durable."""
        written = Path(aside(str(path)))
        try:
            try:
                _write(written, data)
            except FileNotFoundError:
                make_folder(path.parent)
                _write(written, data)
            yield written
        finally:
            # It is gone if it was renamed. One that cannot be removed is left over, and no reason to fail.
            with suppress(OSError):
                written.unlink()
        sync_folder(path.parent)

    def _linked(self, written: Path, path: Path, operation: str) -> bool:
        """Whether a file has got a second name, which nothing had before."""
        try:
            os.link(written, path)
        except FileExistsError:
            # Over NFS an answer may get lost, and the client then finds the link that it has made itself.
            return written.stat().st_nlink == 2
        except OSError as error:
            if error.errno in _NO_HARD_LINKS:
                raise self._not_exclusive(operation, error) from error
            raise
        return True

    def _not_exclusive(self, operation: str, error: OSError) -> LedgerUnavailableError:
        return LedgerUnavailableError(
            f"the ledger cannot {operation} in {self.location}: the file system has no hard links there "
            f"({error.strerror}), and creates nothing exclusively; name a folder on a disk, or on an object store"
        )


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
