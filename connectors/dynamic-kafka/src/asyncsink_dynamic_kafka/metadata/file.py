"""Metadata in a file, as Flink's YamlFileMetadataService reads it, or as JSON."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from asyncsink_dynamic_kafka.metadata.documents import DocumentMetadataService
from asyncsink_dynamic_kafka.metadata.errors import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.layout import MetadataDocument, read_layout
from asyncsink_dynamic_kafka.metadata.parsing import parse_json, parse_yaml

_MAX_BYTES: Final = 16 << 20

_Signature = tuple[int, int, int]


class FileMetadataService(DocumentMetadataService):
    """Reads a file, and again when it has changed. Its layouts are those of the module ``layout``.

    A file whose name ends in ``.json`` is JSON, any other YAML. It has to be there wherever writers run, such as on a
    volume that all share. Replace it by renaming another one onto it: one that is written in place may be read when
    half of it is there, and half a YAML file may be a whole one to its reader.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = os.fspath(path)
        self._read: tuple[_Signature, MetadataDocument] | None = None
        self._is_reading = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    async def _fetch(self) -> MetadataDocument:
        # A file system may hang, as a network's does. The deadline is the caller's; the thread then stays behind, and
        # has to be the only one.
        if self._is_reading:
            raise MetadataUnavailableError(
                f"the metadata file {self.path!r} is still being read; its file system hangs"
            )
        self._read = await anyio.to_thread.run_sync(self._in_a_thread, abandon_on_cancel=True)
        return self._read[1]

    def _in_a_thread(self) -> tuple[_Signature, MetadataDocument]:
        self._is_reading = True
        try:
            return self._changed()
        finally:
            self._is_reading = False

    def _changed(self) -> tuple[_Signature, MetadataDocument]:
        """What the file says, read only where it is another than before."""
        try:
            with Path(self.path).open("rb") as file:
                before = _signature(self.path, os.fstat(file.fileno()))
                if self._read is not None and self._read[0] == before:
                    return self._read
                data = file.read(_MAX_BYTES + 1)
                after = _signature(self.path, os.fstat(file.fileno()))
        except OSError as error:
            raise MetadataUnavailableError(
                f"the metadata file {self.path!r} cannot be read: {error.strerror or type(error).__name__}; it has to "
                "be there and readable wherever writers run"
            ) from error
        if before != after or len(data) != before[1]:
            raise MetadataUnavailableError(
                f"the metadata file {self.path!r} has changed while it was read; rename a new file onto it instead of "
                "writing into it"
            )
        return before, self._parsed(data)

    def _parsed(self, data: bytes) -> MetadataDocument:
        try:
            return read_layout((parse_json if self.path.lower().endswith(".json") else parse_yaml)(data))
        except MetadataError as error:
            raise MetadataError(f"the metadata file {self.path!r} cannot be used: {error}") from None


def _signature(path: str, status: os.stat_result) -> _Signature:
    """By what a file that was written or replaced is known.

    :raises MetadataError: nobody can read that much, or it is no file
    """
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
        raise MetadataError(
            f"the metadata file {path!r} must be a file of at most {_MAX_BYTES} bytes; it has {status.st_size}"
        )
    return status.st_mtime_ns, status.st_size, status.st_ino
