"""Dead letters in files: a folder of this machine, or any URL that fsspec knows."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio
import anyio.to_thread

from asyncsink.context import InitContext
from asyncsink.dead_letters.encoding import FORMATS, Format, encoder
from asyncsink.dead_letters.folders import AppendingFolder, Folder, RemoteFolder, RenamingFolder
from asyncsink.dead_letters.letter import DeadLetter
from asyncsink.dead_letters.location import checked_path, filesystem, local_path, shown
from asyncsink.dead_letters.store import DeadLetterWriter
from asyncsink.errors import ConfigurationError, DeadLetterError

CLOSE_TIMEOUT_S: Final = 10.0
"""Seconds for which a file system that hangs can hold up the end of a writer; nothing is left to be written then."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class DeadLetterFiles:
    """Files of dead letters in one folder, which any number of writers and queries may share.

    On this machine, lines of JSON are appended to one file a writer, and each write is on the disk (``fsync``) before
    it counts. Elsewhere, and for Parquet, each write makes one finished file. Names are unique for each writer, so
    that nothing is ever overwritten: ``dead-letters-<query>-<batch>-<partition>-<attempt>-<random>-<number>.jsonl``.
    On a cluster each machine has its own folders: name one that all of them share, or a URL.

    :param path: a folder, which is made if it is missing, or a URL such as ``"s3://bucket/dead-letters"``, which needs
        ``asyncsink-core[fsspec]`` and the package that fsspec needs for it
    :param format: ``"jsonl"``, or ``"parquet"``, which needs ``asyncsink-core[arrow]``
    :param storage_options: what fsspec is told besides the URL, such as credentials; never shown
    :raises ConfigurationError: names the argument, its value and the rule it breaks
    """

    path: str | Path
    format: Format = "jsonl"
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", checked_path(self.path))
        if self.format not in FORMATS:
            raise ConfigurationError(
                f"the format of dead letters = {self.format!r} is not known; it must be one of {', '.join(FORMATS)}"
            )
        options = self.storage_options
        if options is None:
            return
        if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
            raise ConfigurationError("the storage_options of dead letters are no mapping with names; give a dict")
        if options and local_path(str(self.path)) is not None:
            raise ConfigurationError(
                f"storage_options are for fsspec, but the path of dead letters = {self.path!r} is a folder of this "
                "machine; leave them out, or name a URL"
            )
        object.__setattr__(self, "storage_options", dict(options))

    def __repr__(self) -> str:
        return f"DeadLetterFiles({shown(str(self.path))!r}, format={self.format!r})"

    @asynccontextmanager
    async def open(self, context: InitContext) -> AsyncIterator[DeadLetterWriter]:
        """What writes the letters of the writer with `context`; makes the folder, but no file before its first letter.

        :raises ConfigurationError: a package is missing, or fsspec refuses the URL
        :raises DeadLetterError: the folder cannot be written to
        """
        path, stem = str(self.path), _stem(context)
        writer = _FilesWriter(shown(path), await anyio.to_thread.run_sync(encoder, self.format))
        await writer.open(partial(self._folder, _numbered(stem, self.format)))
        try:
            yield writer
        finally:
            await writer.aclose()

    def _folder(self, name_of: Callable[[], str]) -> Folder:
        folder = local_path(str(self.path))
        if folder is None:
            return RemoteFolder(*filesystem(str(self.path), self.storage_options or {}), name_of)
        return AppendingFolder(folder, name_of) if self.format == "jsonl" else RenamingFolder(folder, name_of)


class _FilesWriter:
    """Encodes and writes in a thread, one write at a time."""

    def __init__(self, path: str, encode: Callable[[Sequence[DeadLetter]], bytes]) -> None:
        self._path, self._encode = path, encode
        self._folder: Folder
        # Its own: programs may fill anyio's common threads with calls that block for long.
        self._thread = anyio.CapacityLimiter(1)

    async def open(self, folder: Callable[[], Folder]) -> None:
        self._folder = await anyio.to_thread.run_sync(folder)
        await self._run(self._folder.prepare)

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        """Store `letters`; they are durable when this returns."""
        if letters:
            await self._run(partial(self._write, tuple(letters)))

    def _write(self, letters: Sequence[DeadLetter]) -> None:
        self._folder.write(self._encode(letters))

    async def aclose(self) -> None:
        with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
            await anyio.to_thread.run_sync(self._folder.close, abandon_on_cancel=True)

    async def _run(self, work: Callable[[], None]) -> None:
        # A local write is waited for, whoever is cancelled: it ends by itself. One over a network may never end, so
        # its thread is left behind.
        abandon = isinstance(self._folder, RemoteFolder)
        try:
            await anyio.to_thread.run_sync(work, limiter=self._thread, abandon_on_cancel=abandon)
        except Exception as error:
            raise _failed(self._path, error) from error


def _failed(path: str, error: Exception) -> DeadLetterError:
    # Clients put addresses and signatures into their messages: theirs are left to the chained error.
    what = error.strerror if isinstance(error, OSError) and error.strerror else "see the error that it is chained to"
    return DeadLetterError(
        f"dead letters cannot be written to {path}: {type(error).__name__}: {what}; make sure that the folder exists, "
        "may be written to and has room, then run the task again, which repeats what is not written"
    )


def _stem(context: InitContext) -> str:
    """The part of the names that a writer's files share; random, as a task may run twice at the same time."""
    query = _UNFIT.sub("_", context.query_id or "none")[:64]
    batch = "none" if context.batch_id is None else context.batch_id
    return f"dead-letters-{query}-{batch}-{context.writer_id}-{context.attempt}-{uuid4().hex[:12]}"


def _numbered(stem: str, suffix: str) -> Callable[[], str]:
    numbers = count()
    return lambda: f"{stem}-{next(numbers):05}.{suffix}"
