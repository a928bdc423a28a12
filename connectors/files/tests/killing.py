"""Kills a run at every point where a file, or the log, changes or is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asyncsink.ledger.local import LocalStore
from asyncsink_files import FilesSink
from asyncsink_files.local import LocalFile, LocalStorage
from asyncsink_files.storage import Storage


class Killed(BaseException):
    """Stands for a SIGKILL: nothing catches it, and nothing is tidied up for it."""


class Points:
    """Counts the points that a run comes to, and kills it at one of them; a killed run comes no further.

    :param kill_at: the point, from 0; None to come to all of them
    """

    def __init__(self, kill_at: int | None = None) -> None:
        self.passed: list[str] = []
        self._kill_at = kill_at

    def __call__(self, what: str) -> None:
        if len(self.passed) == self._kill_at:
            raise Killed(what)
        self.passed.append(what)


class WatchedFile(LocalFile):
    """A file that may be killed in the midst of a write."""

    points: Points

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data)
        half = len(view) // 2
        self.points(f"before writing to {self.name}")
        super().write(view[:half])
        self.points(f"in the midst of writing to {self.name}")
        super().write(view[half:])
        return len(data)

    def sync(self) -> None:
        self.points(f"before syncing {self.name}")
        super().sync()


class WatchedStorage(LocalStorage):
    """A folder each of whose changes is two points: before it, and after it."""

    points: Points

    def begin(self, name: str) -> LocalFile:
        self.points(f"before beginning {name}")
        file = super().begin(name)
        self.points(f"after beginning {name}")
        watched = WatchedFile.__new__(WatchedFile)
        watched.__dict__.update(file.__dict__)
        watched.points = self.points
        return watched

    def rename(self, name: str, final: str) -> bool:
        self.points(f"before renaming {name}")
        renamed = super().rename(name, final)
        self.points(f"after renaming {name}")
        return renamed

    def create(self, name: str, data: bytes, aside: str) -> bool:
        self.points(f"before creating {name}")
        created = super().create(name, data, aside)
        self.points(f"after creating {name}")
        return created

    def mark(self, name: str) -> None:
        self.points(f"before marking {name}")
        super().mark(name)

    def remove(self, name: str) -> None:
        self.points(f"before removing {name}")
        super().remove(name)

    def remove_folder(self, folder: str) -> None:
        self.points(f"before removing {folder}")
        super().remove_folder(folder)

    def sync(self, folder: str) -> None:
        self.points(f"before syncing the folder {folder}")
        super().sync(folder)


class WatchedFilesSink(FilesSink):
    """A sink whose every effect is a point."""

    points: Points

    def storage(self) -> Storage:
        storage = WatchedStorage(Path(self.options.path))
        storage.points = self.points
        return storage


class WatchedStore(LocalStore):
    """The log's folder, each of whose calls is a point, or two."""

    points: Points

    def within(self, folder: str) -> WatchedStore:
        deeper = WatchedStore(self._path(folder), f"{self.location}/{folder}")
        deeper.points = self.points
        return deeper

    def create(self, name: str, data: bytes) -> bool:
        self.points(f"before creating {name}")
        created = super().create(name, data)
        self.points(f"after creating {name}")
        return created

    def read(self, name: str) -> bytes | None:
        self.points(f"before reading {name}")
        return super().read(name)

    def remove(self, *names: str) -> None:
        self.points(f"before removing {names}")
        super().remove(*names)


def watched_store(folder: Path, points: Points) -> Any:
    store = WatchedStore(folder)
    store.points = points
    return store
