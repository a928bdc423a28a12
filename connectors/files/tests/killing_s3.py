"""A sink on S3 that can be killed before and after every call that changes something."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from asyncsink.ledger import open_store
from asyncsink.ledger.remote import RemoteStore
from asyncsink_files import read_manifest
from asyncsink_files.manifest import Manifest
from asyncsink_files.naming import MANIFEST
from asyncsink_files.place import place_of
from asyncsink_files.s3 import S3Storage
from asyncsink_files.s3_folder import S3Folder, open_folder
from asyncsink_files.storage import Storage
from asyncsink_testing.killing import Points

from .killing import WatchedFilesSink
from .reading import by_number, rows_in, rows_of
from .s3 import Bucket
from .trial import FOREIGN, ROWS, Trial

PART: Final = 64
"""Bytes of a part: each file of a trial has several."""

_LOOKING: Final = {"head_object", "list_multipart_uploads", "list_objects_v2", "list_parts"}


class WatchedFolder(S3Folder):
    """A folder each change of which is two points: before it, and after it."""

    points: Points

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        if method in _LOOKING:
            return super().call(method, **parameters)
        self.points(f"before {method} {parameters['Key']}")
        answer = super().call(method, **parameters)
        self.points(f"after {method} {parameters['Key']}")
        return answer


class WatchedRemoteStore(RemoteStore):
    """A manifest's folder, likewise."""

    points: Points

    def create(self, name: str, data: bytes) -> bool:
        self.points(f"before creating {name}")
        created = super().create(name, data)
        self.points(f"after creating {name}")
        return created


class WatchedS3Sink(WatchedFilesSink):
    """A sink whose every effect on S3 is a point."""

    def storage(self) -> Storage:
        folder = WatchedFolder.__new__(WatchedFolder)
        folder.__dict__.update(open_folder(place_of(self.options.path)).__dict__)
        folder.points = self.points
        return S3Storage(folder, part_size=PART)

    def manifest(self) -> Manifest:
        store = WatchedRemoteStore.__new__(WatchedRemoteStore)
        store.__dict__.update(open_store(self.options.path).within(MANIFEST).__dict__)
        store.points = self.points
        return Manifest(store, self.options.path)


class S3Trial(Trial):
    """A folder of a bucket with runs that may be killed, beside objects and uploads of others."""

    # Two commits are enough where each call takes milliseconds.
    every = 5

    def __init__(self, folder: Path, options: dict[str, Any], bucket: Bucket) -> None:
        self.folder, self.options, self.bucket = folder, options, bucket
        self.uploads = [f"part-{FOREIGN[1].rpartition('/')[2]}.json", "theirs.json", "deeper/theirs.json"]
        for name in FOREIGN:
            bucket.put(name, b"do not touch")
        for name in self.uploads:
            bucket.begin_upload(name)

    def sink(self) -> WatchedS3Sink:
        return WatchedS3Sink(path=self.bucket.url, **self.options)

    def check(self) -> None:
        copy = self.bucket.copy_to(self.folder / "copy")
        assert rows_in(copy) == ROWS
        assert listed(self.bucket, copy) == ROWS
        assert {name for name in self.bucket.objects() if name.startswith("_asyncsink/")} == {*FOREIGN}
        assert {self.bucket.read(name) for name in FOREIGN} == {b"do not touch"}
        assert self.bucket.uploads() == sorted(self.uploads)


def listed(bucket: Bucket, copy: Path) -> list[dict[str, Any]]:
    """The rows of all files that the manifest lists, by number, from a copy of the folder."""
    names = [file.path.removeprefix(f"{bucket.url}/") for file in read_manifest(bucket.url)]
    return by_number(row for name in names for row in rows_of(copy / name))
