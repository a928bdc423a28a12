"""The list of commits, in the manner of a table format's log: readers take all files of a commit, or none of them.

``<path>/_manifest/<version>.json`` holds the files of one commit. Versions count from 1, with 20 digits, and each is
created exclusively: of several that commit at once one gets the version, and the others read it and try the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike, fspath
from typing import Any, Final

import anyio.to_thread

from asyncsink.committer import GlobalCommitter
from asyncsink.errors import CommitError
from asyncsink_files.committable import CommittedFiles, PendingFile
from asyncsink_files.failures import told
from asyncsink_files.naming import MANIFEST, Origin, folder_of_sink, origin_of
from asyncsink_files.options import folder_of
from asyncsink_files.storage import Storage, open_storage

KEPT_SINKS: Final = 100
"""Sinks whose last version is told by each entry, so that nobody has to read all of them."""

_FORMAT: Final = 1
_NAME: Final = re.compile(r"\d{20}\.json")
_ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file that readers take.

    :param path: absolute, in what :func:`read_manifest` returns; within the destination in the manifest
    """

    path: str
    rows: int
    size_in_bytes: int


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One commit.

    :param follows: the version of the commit before it by the same sink
    :param latest: the last version of each sink, this commit included; those that committed last come last
    """

    sink_id: str
    generation: int
    files: tuple[ManifestFile, ...]
    follows: int | None = None
    latest: Mapping[str, int] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        return json.dumps({"format": _FORMAT, **asdict(self)}, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def of_bytes(cls, data: bytes) -> Entry:
        """
        :raises ValueError: it is no entry, or one of a later release
        """
        fields: dict[str, Any] = json.loads(data)
        if not isinstance(fields, dict) or fields.pop("format", None) != _FORMAT:
            raise ValueError(f"it is not of format {_FORMAT}")
        try:
            files = tuple(ManifestFile(**each) for each in fields.pop("files"))
            return cls(files=files, **fields)
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from error


class Manifest:
    """The entries of one destination. Everything here blocks."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def versions(self) -> list[int]:
        """Those there are, in order."""
        return [int(name[:20]) for name in self._storage.names(MANIFEST) if _NAME.fullmatch(name)]

    def read(self, version: int) -> Entry:
        """
        :raises CommitError: it is damaged
        """
        name = _name(version)
        try:
            return Entry.of_bytes(self._storage.read(name))
        except ValueError as error:
            raise CommitError(
                f"{self._storage.location}/{name} is damaged ({error}); bring it back from a copy, or take the files "
                "in the folder for what is committed and set manifest=false"
            ) from error

    def contains(self, commit: CommittedFiles) -> bool:
        """Whether a commit is listed."""
        return self._version_of(commit, self._newest()[1]) is not None

    def add(self, commit: CommittedFiles) -> int:
        """List a commit, unless it is listed; its version."""
        for _ in range(_ATTEMPTS):
            version, newest = self._newest()
            found = self._version_of(commit, newest)
            if found is not None:
                return found
            entry = _entry(commit, version + 1, newest)
            if self._storage.create(_name(version + 1), entry.as_bytes(), _aside(commit)):
                return version + 1
        raise CommitError(
            f"{_ATTEMPTS} versions of {self._storage.location}/{MANIFEST} were taken by others meanwhile; the batch "
            "stays prepared, and is committed when the job starts again"
        )

    def _newest(self) -> tuple[int, Entry | None]:
        versions = self.versions()
        return (versions[-1], self.read(versions[-1])) if versions else (0, None)

    def _version_of(self, commit: CommittedFiles, newest: Entry | None) -> int | None:
        """The version of a commit, looked for among those of its sink that are not older than it.

        By its files, whose names are never used twice: a writer that lives on gives those of several commits one
        generation.
        """
        paths = {each.final for each in commit.all()}
        version = None if newest is None else newest.latest.get(commit.sink_id)
        while version is not None:
            entry = self.read(version)
            if {each.path for each in entry.files} == paths:
                return version
            if entry.generation < commit.generation:
                return None
            version = entry.follows
        return None


class ManifestCommitter(GlobalCommitter[PendingFile, CommittedFiles]):
    """Lists what a :class:`~asyncsink_files.committer.FilesCommitter` has committed."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self._manifest = storage, Manifest(storage)

    async def filter_recovered_committables(self, recovered: Sequence[CommittedFiles]) -> list[CommittedFiles]:
        with told("read the manifest", self._storage.location, CommitError):
            listed = await anyio.to_thread.run_sync(lambda: [self._manifest.contains(each) for each in recovered])
        return [each for each, is_listed in zip(recovered, listed, strict=True) if not is_listed]

    async def combine(self, committables: Sequence[PendingFile]) -> CommittedFiles:
        origins = [origin for each in committables if (origin := origin_of(each.name)) is not None]
        (sink_id,) = {sink_id for sink_id, _ in origins}
        return CommittedFiles.of(sink_id, max(generation for _, generation in origins), committables)

    async def commit(self, committables: Sequence[CommittedFiles]) -> list[CommittedFiles]:
        for each in committables:
            with told("write the manifest", self._storage.location, CommitError):
                await anyio.to_thread.run_sync(self._manifest.add, each)
        return []


def read_manifest(path: str | PathLike[str]) -> list[ManifestFile]:
    """The files of all commits to a folder, in order of the commits: what a reader should take.

    :param path: the sink's option of this name
    :raises ConfigurationError: it names no folder of this machine
    :raises CommitError: the manifest cannot be read
    """
    folder = folder_of(fspath(path)).absolute()
    storage = open_storage(str(folder))
    with told("read the manifest", storage.location, CommitError):
        files = [*_files(storage)]
    return [ManifestFile(str(folder / each.path), each.rows, each.size_in_bytes) for each in files]


def _files(storage: Storage) -> Iterator[ManifestFile]:
    manifest = Manifest(storage)
    for version in manifest.versions():
        yield from manifest.read(version).files


def _entry(commit: CommittedFiles, version: int, newest: Entry | None) -> Entry:
    known = {} if newest is None else dict(newest.latest)
    follows = known.pop(commit.sink_id, None)
    return Entry(
        sink_id=commit.sink_id,
        generation=commit.generation,
        files=tuple(ManifestFile(each.final, each.rows, each.size_in_bytes) for each in commit.all()),
        follows=follows,
        latest=dict([*known.items(), (commit.sink_id, version)][-KEPT_SINKS:]),
    )


def _name(version: int) -> str:
    return f"{MANIFEST}/{version:020}.json"


def _aside(commit: CommittedFiles) -> str:
    """A name by which a sweep finds what a killed process has left."""
    return Origin(folder_of_sink(commit.sink_id), commit.sink_id, commit.generation, 0, 0).new_name()
