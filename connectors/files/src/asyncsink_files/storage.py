"""What the connector asks of a file system. Everything here blocks: it is called in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from asyncsink.config import MiB
from asyncsink.ledger import Store, open_store
from asyncsink_files.naming import MANIFEST
from asyncsink_files.place import place_of

if TYPE_CHECKING:
    from asyncsink_files.options import FilesOptions


_PART_SIZE: Final = 8 * MiB
"""Bytes of a part of an upload: a writer has as many in memory. S3 takes no fewer than 5 MiB."""
_MOST_PARTS: Final = 9_000
"""S3 takes 10 000 parts, and a file may become larger than it should by the rows that are written at once."""


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

    @property
    def receipt(self) -> str:
        """What the storage needs to show it, once it is synced."""
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
    """A destination of files. Names are relative to it, with slashes; all raise :class:`OSError`.

    :ivar keeps_open: whether a file that was synced can be gone on with by :meth:`resume`
    """

    @property
    def location(self) -> str:
        """Where it is, for messages."""
        ...

    @property
    def keeps_open(self) -> bool: ...

    def begin(self, name: str, final: str) -> PartFile:
        """A new file, with the folders above it.

        :param final: what its final name will be, as far as that is known

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

    def show(self, name: str, final: str, receipt: str) -> bool:
        """Give a file its final name, atomically; False if there is no such file."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is a file of that name."""
        ...

    def mark(self, name: str) -> None:
        """Make sure that there is an empty file of that name, not necessarily after a crash of the machine."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted; none if it does not exist."""
        ...

    def remove(self, *names: str) -> None:
        """Remove files that are not shown, those of them that there are, in this order."""
        ...

    def remove_folder(self, folder: str) -> None:
        """Remove a folder if it is empty."""
        ...

    def sync(self, folder: str) -> None:
        """Make the names in a folder durable; "" is the destination itself."""
        ...


def open_storage(options: FilesOptions) -> Storage:
    """The storage that the options name. Nothing is asked for anything yet.

    :raises ConfigurationError: it is on S3, and s3fs is not installed
    """
    place = place_of(options.path)
    if place.path is not None:
        from asyncsink_files.local import LocalStorage

        return LocalStorage(place.path)
    from asyncsink_files.s3 import S3Storage
    from asyncsink_files.s3_folder import open_folder

    return S3Storage(open_folder(place), part_size=max(_PART_SIZE, -(-options.max_file_size // _MOST_PARTS)))


def open_manifest(path: str) -> Store:
    """What the manifest of a destination is kept in. Nothing is asked for anything yet.

    :raises ConfigurationError: it names no destination; or it is on S3, and s3fs is not installed
    """
    place = place_of(path)
    if place.path is None:
        from asyncsink_files.s3_folder import require_s3fs

        require_s3fs(place)
    return open_store(str(place.path or place.shown)).within(MANIFEST)
