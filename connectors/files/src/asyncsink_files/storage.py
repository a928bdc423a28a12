"""What the connector asks of a file system. Everything here blocks: it is called in threads."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class PartFile(Protocol):
    """A file that grows, and that nobody sees yet."""

    @property
    def name(self) -> str:
        """Its name within the destination."""
        ...

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        ...

    def write(self, data: bytes | memoryview) -> int:
        """Append all of `data`; the bytes of it."""
        ...

    def sync(self) -> None:
        """Make what was written durable, and the file's name with it."""
        ...

    def close(self) -> None:
        """Give the file up as it is. May be called twice."""
        ...


class Storage(Protocol):
    """A destination of files. Names are relative to it, with slashes; all raise :class:`OSError`."""

    @property
    def location(self) -> str:
        """Where it is, for messages."""
        ...

    def begin(self, name: str) -> PartFile:
        """A new file, with the folders above it.

        :raises FileExistsError: there is one of that name
        """
        ...

    def resume(self, name: str, length: int, new_name: str) -> PartFile:
        """A new file that begins as another one does, which stays as it is.

        A copy, since whoever was at work with the other may be slow instead of dead.

        :raises FileNotFoundError: there is none of that name
        :raises EOFError: it is shorter
        """
        ...

    def rename(self, name: str, final: str) -> bool:
        """Give a file its final name, atomically; False if there is no such file."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is a file of that name."""
        ...

    def create(self, name: str, data: bytes, aside: str) -> bool:
        """Create a whole file, durable, unless there is one of that name: then False.

        :param aside: a name for what is left if this is cut short
        """
        ...

    def mark(self, name: str) -> None:
        """Make sure that there is an empty file of that name, not necessarily after a crash of the machine."""
        ...

    def read(self, name: str) -> bytes:
        """The contents of a file."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted; none if it does not exist."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        ...

    def remove_folder(self, folder: str) -> None:
        """Remove a folder if it is empty."""
        ...

    def sync(self, folder: str) -> None:
        """Make the names in a folder durable; "" is the destination itself."""
        ...


def open_storage(path: str) -> Storage:
    """The storage at an absolute path."""
    from asyncsink_files.local import LocalStorage

    return LocalStorage(Path(path))
