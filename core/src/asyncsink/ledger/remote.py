"""A ledger on any file system that fsspec has a back end for, in the fewest round trips."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from asyncsink.errors import LedgerError, LedgerUnavailableError
from asyncsink.ledger.failure import cause, told, without_secrets
from asyncsink.ledger.location import Location
from asyncsink.ledger.naming import PROBE, checked, hidden, left_over
from asyncsink.ledger.writing import Writing, writing

PACKAGES: Final[Mapping[str, str]] = {
    "abfs": "adlfs",
    "abfss": "adlfs",
    "gcs": "gcsfs",
    "gs": "gcsfs",
    "hdfs": "pyarrow",
    "oss": "ossfs",
    "s3": "s3fs",
    "sftp": "paramiko",
}
"""What fsspec needs to be installed for the schemes that people keep checkpoints on."""

ACCESS: Final = (
    "; asyncsink uses fsspec, whose credentials are not Spark's: set them too, or name another place by ledgerLocation"
)
"""What people have yet to do whose keys stand in Spark's own configuration."""

_UNCACHED: Final[Mapping[str, Any]] = {"use_listings_cache": False}
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    **dict.fromkeys(("abfs", "abfss", "gcs", "gs"), _UNCACHED),
    # With more, s3fs asks for the size of a file before it reads it.
    "s3": {**_UNCACHED, "max_concurrency": 1},
}

_proven: Final[set[tuple[str, str]]] = set()
"""The file systems and folders of this process that have shown that they create exclusively."""


class RemoteStore:
    """Files below a path of an fsspec file system; each operation is one round trip to an object store.

    The first :meth:`create` of a process in a folder takes one more, or two in a new folder: it makes sure that a
    file of this name is not created twice. Stores that imitate S3 may ignore the condition.
    """

    def __init__(self, filesystem: Any, writing: Writing, root: str, location: str) -> None:
        self._filesystem, self._writing, self._root = filesystem, writing, root
        self.location = location

    def read(self, name: str) -> bytes | None:
        """The contents of a file; None if there is none."""
        path = self._path(name)
        with self._told("read", name):
            return self._writing.read(path)

    def replace(self, name: str, data: bytes) -> None:
        """Set the contents of a file, atomically; durable when this returns."""
        path = self._path(name)
        with self._told("replace", name):
            self._writing.replace(path, data)

    def create(self, name: str, data: bytes) -> bool:
        """Create a file whole, unless there is one: then False."""
        path = self._path(name)
        with self._told("create", name):
            self._prove_exclusive(f"create {name!r}")
            return self._writing.create(path, data)

    def prove_exclusive(self) -> None:
        """Make sure that :meth:`create` is exclusive, before anything is created; a process asks once for a folder."""
        with self._told("create", PROBE):
            self._prove_exclusive("create files")

    def modified_s(self, name: str) -> float | None:
        """When a file was written; None if there is none, or fsspec's back end cannot tell."""
        path = self._path(name)
        with self._told("look at", name):
            try:
                return float(self._filesystem.modified(path).timestamp())
            except (FileNotFoundError, NotImplementedError):
                return None

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted; none if it does not exist."""
        path = self._folder(folder)
        with self._told("list", folder or "."):
            return [each for each in self._listed(path, "file") if not hidden(each)]

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder, sorted; none if it does not exist."""
        path = self._folder(folder)
        with self._told("list", folder or "."):
            return [each for each in self._listed(path, "directory") if not hidden(each)]

    def _listed(self, path: str, kind: str) -> list[str]:
        try:
            entries = self._filesystem.ls(path, detail=True)
        except FileNotFoundError:
            return []
        # A file of the folder's name lists itself, and some tools keep a folder by an empty file, named `x/`.
        found = [each["name"].strip("/") for each in entries if each["type"] == kind]
        inside = path.strip("/") + "/"
        return sorted(each.removeprefix(inside) for each in found if each.startswith(inside))

    def remove(self, *names: str) -> None:
        """Remove files, those of them that there are; of an object store many in one round trip, if it can."""
        paths = [self._path(name) for name in names]
        with self._told("remove", " to ".join(dict.fromkeys(names[:1] + names[-1:]))):
            self._writing.remove(*paths)

    def sweep(self, folder: str) -> None:
        """Remove what killed writers have left in a folder, after an hour. An object store is not asked."""
        if not self._writing.writes_aside:
            return
        path = self._folder(folder)
        with self._told("sweep", folder or "."):
            left = filter(left_over, self._listed(path, "file"))
            self._writing.remove(*(f"{path}/{name}" for name in left))

    def within(self, folder: str) -> RemoteStore:
        """The same store, one or more folders deeper."""
        return RemoteStore(self._filesystem, self._writing, self._path(folder), f"{self.location}/{folder}")

    def _told(self, operation: str, name: str) -> AbstractContextManager[None]:
        return told(operation, name, self.location, ACCESS)

    def _folder(self, folder: str) -> str:
        return self._path(folder) if folder else self._root

    def _path(self, name: str) -> str:
        return f"{self._root}/{checked(name)}"

    def _prove_exclusive(self, operation: str) -> None:
        key = (str(self._filesystem._fs_token), self._root)
        if key in _proven:
            return
        probe = f"{self._root}/{PROBE}"
        if self._writing.create(probe, b"") and self._writing.create(probe, b""):
            raise LedgerUnavailableError(
                f"the ledger cannot {operation} in {self.location}: the file system there creates a file a second "
                "time, so that two processes could both think that they were first; name a folder on S3, Google Cloud "
                "Storage, Azure Data Lake, HDFS or a disk"
            )
        _proven.add(key)


def open_remote(place: Location) -> RemoteStore:
    """The store at a place that is not of this machine. No object store is asked for anything yet, HDFS is connected.

    :raises LedgerUnavailableError: there is no back end for it, it is not installed, or needs more than an address
    :raises LedgerError: it cannot be opened just now, so that there may well be a ledger
    """
    filesystem, root = _filesystem(place)
    way = writing(filesystem)
    if way is None:
        raise LedgerUnavailableError(
            f"no ledger can be kept in {place.shown}: fsspec's back end for {place.scheme}: can neither put nor rename "
            "a file as a whole; name a folder on an object store, HDFS or a disk"
        )
    return RemoteStore(filesystem, way, root.rstrip("/"), place.shown)


def _filesystem(place: Location) -> tuple[Any, str]:
    _require_back_end(place)
    from fsspec.core import url_to_fs

    try:
        found: tuple[Any, str] = url_to_fs(place.url, **_OPTIONS.get(place.scheme, {}))
    except (ImportError, TypeError) as error:
        raise LedgerUnavailableError(
            f"no ledger can be kept in {place.shown}: fsspec cannot open it ({cause(error)}); give its back end what "
            "it needs besides an address, or name a folder on an object store, HDFS or a disk"
        ) from without_secrets(error)
    except Exception as error:
        # Many connect by now, and a ledger that cannot be reached is not one that cannot be. A ValueError is no sign
        # of wrong arguments: adlfs turns whatever it meets into one.
        raise LedgerError(
            f"the ledger cannot open {place.shown}: {cause(error)}; check address and network, and Java and Hadoop's "
            f"libraries for HDFS, then start the query again{ACCESS}"
        ) from without_secrets(error)
    return found


def _require_back_end(place: Location) -> None:
    package = PACKAGES.get(place.scheme)
    install = f"pip install 'asyncsink-core[fsspec]'{f' {package}' if package else ''}"
    try:
        from fsspec.registry import get_filesystem_class
    except ImportError as error:
        raise LedgerUnavailableError(
            f"a ledger in {place.shown} needs fsspec, which is not installed; run {install}"
        ) from error
    try:
        get_filesystem_class(place.scheme)
    except (ImportError, ValueError) as error:
        # Some schemes are known to fsspec only once their package is there.
        if package is None and isinstance(error, ValueError):
            raise LedgerUnavailableError(
                f"no ledger can be kept in {place.shown}: fsspec has no back end for {place.scheme}:, see "
                "fsspec.available_protocols(); name a folder on an object store, HDFS or a disk"
            ) from error
        raise LedgerUnavailableError(
            f"a ledger in {place.shown} needs {package or 'a package'}, which is not installed ({cause(error)}); "
            f"run {install}"
        ) from error
