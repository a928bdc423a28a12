"""A sink that can be killed at every point where a file changes."""

from __future__ import annotations

from pathlib import Path

from asyncsink_files import FilesSink
from asyncsink_files.local import LocalFile, LocalStorage
from asyncsink_files.manifest import Manifest
from asyncsink_files.naming import MANIFEST
from asyncsink_files.storage import Storage
from asyncsink_testing.killing import Points, WatchedStore


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

    def begin(self, name: str, final: str) -> LocalFile:
        self.points(f"before beginning {name}")
        file = super().begin(name, final)
        self.points(f"after beginning {name}")
        watched = WatchedFile.__new__(WatchedFile)
        watched.__dict__.update(file.__dict__)
        watched.points = self.points
        return watched

    def show(self, name: str, final: str, receipt: str) -> bool:
        self.points(f"before renaming {name}")
        renamed = super().show(name, final, receipt)
        self.points(f"after renaming {name}")
        return renamed

    def mark(self, name: str) -> None:
        self.points(f"before marking {name}")
        super().mark(name)

    def remove(self, *names: str) -> None:
        for name in names:
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

    def manifest(self) -> Manifest:
        return Manifest(WatchedStore.at(Path(self.options.path) / MANIFEST, self.points), self.options.path)
