"""A ledger that is gone with its process: for checks that keep none."""

from __future__ import annotations

from time import time

from asyncsink.ledger.naming import checked


class MemoryStore:
    """Files that are kept in memory, as a :class:`~asyncsink.ledger.Store`."""

    location = "memory"

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, float]] = {}
        self._folder = ""

    def read(self, name: str) -> bytes | None:
        """The contents of a file; None if there is none."""
        data, _ = self._files.get(self._path(name), (None, 0.0))
        return data

    def replace(self, name: str, data: bytes) -> None:
        """Set the contents of a file."""
        self._files[self._path(name)] = data, time()

    def create(self, name: str, data: bytes) -> bool:
        """Create a file, unless there is one: then False."""
        is_new = self._path(name) not in self._files
        if is_new:
            self.replace(name, data)
        return is_new

    def prove_exclusive(self) -> None:
        """One process creates after the other."""

    def modified_s(self, name: str) -> float | None:
        """When a file was written; None if there is none."""
        _, written_s = self._files.get(self._path(name), (b"", None))
        return written_s

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted."""
        return sorted(rest for rest in self._beneath(folder) if "/" not in rest)

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder, sorted."""
        return sorted({rest.partition("/")[0] for rest in self._beneath(folder) if "/" in rest})

    def _beneath(self, folder: str) -> list[str]:
        prefix = f"{self._path(folder)}/" if folder else self._folder
        return [path.removeprefix(prefix) for path in self._files if path.startswith(prefix)]

    def remove(self, *names: str) -> None:
        """Remove files, those of them that there are."""
        for name in names:
            self._files.pop(self._path(name), None)

    def sweep(self, folder: str) -> None:
        """Nothing is ever left in a folder."""

    def within(self, folder: str) -> MemoryStore:
        """The same store, one or more folders deeper."""
        deeper = MemoryStore()
        deeper._files, deeper._folder = self._files, f"{self._path(folder)}/"
        deeper.location = f"{self.location}/{folder}"
        return deeper

    def _path(self, name: str) -> str:
        return f"{self._folder}{checked(name)}"
