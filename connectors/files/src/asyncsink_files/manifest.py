"""The list of commits, in the manner of a table format's log: readers take all files of a commit, or none of them.

``<path>/_manifest/<version>.json`` holds the files of one commit. Versions count from 1, with 20 digits, and each is
created exclusively: of several that commit at once one gets the version, and the others read it and try the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from os import PathLike, fspath
from typing import Any, Final

import anyio.to_thread

from asyncsink.committer import GlobalCommitter
from asyncsink.errors import CommitError, ConfigurationError, LedgerError, LedgerUnavailableError
from asyncsink.ledger import Store
from asyncsink.ledger.failure import without_secrets
from asyncsink_files.committable import CommittedFiles, PendingFile
from asyncsink_files.failures import refusal
from asyncsink_files.naming import origin_of
from asyncsink_files.place import place_of
from asyncsink_files.storage import open_manifest

KEPT_SINKS: Final = 100
"""Sinks whose last version is told by each entry, so that nobody has to read all of them."""

_FORMAT: Final = 1
_NAME: Final = re.compile(r"\d{20}\.json")
_ATTEMPTS: Final = 100

_proven: Final[set[str]] = set()
"""Where this process has seen that a version cannot be created twice."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file that readers take.

    :param path: absolute, or a URL, in what :func:`read_manifest` returns; within the destination in the manifest
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
    """The entries of one destination. Everything here blocks.

    :param location: the destination, for messages
    :raises CommitError: whatever the store refuses, with the remedy
    """

    def __init__(self, store: Store, location: str) -> None:
        self._store, self._location = store, location

    def check(self) -> None:
        """Make sure that a version cannot be created twice; a process asks once for a destination.

        :raises ConfigurationError: the file system, or what imitates S3, does not keep that
        """
        if self._store.location in _proven:
            return
        with self._told("prepare the manifest"):
            self._store.prove_exclusive()
            self._store.sweep("")
        _proven.add(self._store.location)

    def versions(self) -> list[int]:
        """Those there are, in order."""
        with self._told("read the manifest"):
            return [int(name[:20]) for name in self._store.names("") if _NAME.fullmatch(name)]

    def read(self, version: int) -> Entry:
        """
        :raises CommitError: it is damaged
        """
        with self._told("read the manifest"):
            data = self._store.read(_name(version))
        try:
            return Entry.of_bytes(data or b"")
        except ValueError as error:
            raise CommitError(
                f"{self._store.location}/{_name(version)} is damaged ({error}); bring it back from a copy, or take the "
                "files in the folder for what is committed and set manifest=false"
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
            with self._told("write the manifest"):
                if self._store.create(_name(version + 1), entry.as_bytes()):
                    return version + 1
        raise CommitError(
            f"{_ATTEMPTS} versions of {self._store.location} were taken by others meanwhile; the batch "
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

    @contextmanager
    def _told(self, operation: str) -> Iterator[None]:
        try:
            yield
        except LedgerUnavailableError as error:
            raise ConfigurationError(
                f"no manifest can be kept in {self._location}, where two queries could commit as one version: set "
                f"manifest=false, or name another path ({error})"
            ) from error
        except LedgerError as error:
            cause = error.__cause__ or error
            raise CommitError(refusal(operation, self._location, cause)) from without_secrets(cause)


class ManifestCommitter(GlobalCommitter[PendingFile, CommittedFiles]):
    """Lists what a :class:`~asyncsink_files.committer.FilesCommitter` has committed."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest

    async def check_destination(self) -> None:
        await anyio.to_thread.run_sync(self._manifest.check)

    async def filter_recovered_committables(self, recovered: Sequence[CommittedFiles]) -> list[CommittedFiles]:
        listed = await anyio.to_thread.run_sync(lambda: [self._manifest.contains(each) for each in recovered])
        return [each for each, is_listed in zip(recovered, listed, strict=True) if not is_listed]

    async def combine(self, committables: Sequence[PendingFile]) -> CommittedFiles:
        origins = [origin for each in committables if (origin := origin_of(each.name)) is not None]
        (sink_id,) = {sink_id for sink_id, _ in origins}
        return CommittedFiles.of(sink_id, max(generation for _, generation in origins), committables)

    async def commit(self, committables: Sequence[CommittedFiles]) -> list[CommittedFiles]:
        for each in committables:
            await anyio.to_thread.run_sync(self._manifest.add, each)
        return []


def read_manifest(path: str | PathLike[str]) -> list[ManifestFile]:
    """The files of all commits to a folder, in order of the commits: what a reader should take.

    :param path: the sink's option of this name
    :raises ConfigurationError: it names no place that files are written to
    :raises CommitError: the manifest cannot be read
    """
    folder = place_of(fspath(path)).shown
    manifest = Manifest(open_manifest(folder), folder)
    return [
        ManifestFile(f"{folder}/{each.path}", each.rows, each.size_in_bytes)
        for version in manifest.versions()
        for each in manifest.read(version).files
    ]


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
    return f"{version:020}.json"
