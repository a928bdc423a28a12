"""S3 for these tests: the kit's server, and buckets as a client sees them that is not ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
from moto.s3.exceptions import NoSuchUpload
from moto.s3.models import S3Backend

from asyncsink_testing.s3_server import S3, serve


class Bucket:
    """A bucket of its own, with a folder in it.

    :ivar url: of the folder, as option ``path`` takes it
    """

    def __init__(self, s3: S3) -> None:
        bucket = s3.bucket()
        self.url, self.name = f"{bucket}/rows", bucket.removeprefix("s3a://")
        self.client = boto3.client("s3", endpoint_url=s3.url)

    def objects(self) -> list[str]:
        """The names of all objects in the folder, hidden ones too."""
        found = self.client.list_objects_v2(Bucket=self.name, Prefix="rows/").get("Contents", [])
        return [each["Key"].removeprefix("rows/") for each in found]

    def uploads(self) -> list[str]:
        """What uploads that are neither complete nor aborted will be called, without the folder."""
        found = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return sorted(each["Key"].removeprefix("rows/") for each in found)

    def put(self, name: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=f"rows/{name}", Body=data)

    def read(self, name: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=self.name, Key=f"rows/{name}")["Body"].read()
        return data

    def begin_upload(self, name: str) -> None:
        """Begin an upload, as another program would."""
        self.client.create_multipart_upload(Bucket=self.name, Key=f"rows/{name}")

    def copy_to(self, folder: Path) -> Path:
        """All that the folder holds, where tests can read it."""
        for name in self.objects():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.read(name))
        return folder


@contextmanager
def serving() -> Iterator[S3]:
    """A server with parts of any size, which knows uploads that are not there as S3 does.

    Of moto's own accord they are errors of the server, which clients repeat.
    """
    with ExitStack() as stack:
        for name in ("upload_part", "complete_multipart_upload"):
            stack.enter_context(patch.object(S3Backend, name, _refusing(getattr(S3Backend, name))))
        stack.enter_context(patch("moto.s3.models.S3_UPLOAD_PART_MIN_SIZE", 1))
        yield stack.enter_context(serve())


def _refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    def refuse_or_call(backend: Any, bucket: str, upload: str, *arguments: Any) -> Any:
        if upload not in backend.get_bucket(bucket).multiparts:
            raise NoSuchUpload(upload_id=upload)
        return call(backend, bucket, upload, *arguments)

    return refuse_or_call
