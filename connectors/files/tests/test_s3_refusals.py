"""What S3 refuses, and what is refused there, with the remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from traceback import format_exception

import anyio
import pytest
from botocore.exceptions import EndpointConnectionError

from asyncsink import (
    CommitError,
    ConfigurationError,
    DeliveryError,
    Transaction,
)
from asyncsink_files import FilesSink, read_manifest
from asyncsink_files.committable import PendingFile
from asyncsink_files.committer import FilesCommitter
from asyncsink_files.s3 import S3Storage
from asyncsink_files.s3_folder import S3Folder
from asyncsink_files.writer import FilesWriter
from asyncsink_testing.s3_server import S3

from .job import Job
from .s3 import Bucket
from .trial import ROWS, run
from .writing import SINK_ID, context, written

SECRET = "http://me:hush@host/"


def check(url: str) -> None:
    """What is asked before the first attempt."""
    committer = FilesSink(path=url).create_global_committer()
    assert committer is not None
    anyio.run(committer.check_destination)


def test_a_store_that_is_deaf_to_conditions_is_refused_before_the_first_row(
    s3: S3, bucket: Bucket, tmp_path: Path
) -> None:
    s3.deaf = True
    with pytest.raises(ConfigurationError, match=r"in s3a://.*: set manifest=false, .* a second time"):
        run(FilesSink(path=bucket.url), tmp_path / "state")
    run(FilesSink(path=bucket.url, manifest=False), tmp_path / "state of another")
    assert len([name for name in bucket.objects() if name[0] != "_"]) == 1


@pytest.mark.parametrize(
    ("status", "code", "remedy"),
    [
        (403, "AccessDenied", "let the credentials .* do s3:ListBucket"),
        (403, "InvalidAccessKeyId", "let the credentials .* do s3:ListBucket"),
        (400, "InvalidArgument", "make sure that credentials, region and endpoint"),
    ],
)
@pytest.mark.parametrize(
    ("operation", "work"),
    [
        ("prepare the manifest", check),
        ("read the manifest", read_manifest),
        ("commit files", lambda url: Job(url).commit([PendingFile("x", "y", 1, 1, '{"upload_id": "z", "etags": []}')])),
        ("sweep", lambda url: Job(url).sweep(3)),
    ],
)
def test_what_s3_refuses_is_told_with_the_remedy(
    s3: S3, bucket: Bucket, operation: str, work: Callable[[str], object], status: int, code: str, remedy: str
) -> None:
    s3.answers = [(status, code)]
    with pytest.raises(CommitError, match=rf"cannot {operation} in {bucket.url}: .*told so; {remedy}") as caught:
        work(bucket.url)
    assert "hush" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_told_from_one_that_is_empty(s3: S3) -> None:
    with pytest.raises(CommitError, match=r"cannot prepare the manifest in s3a://none/x: .*; make the bucket, or name"):
        check("s3a://none/x")

    async def fail(writer: FilesWriter) -> None:
        await writer.write_many(ROWS)
        with pytest.raises(DeliveryError, match=r"cannot write files in s3a://none/x: .*; make the bucket, or name"):
            await writer.prepare_commit(flush=True)

    written(FilesSink(path="s3a://none/x"), fail)


def test_what_a_client_raises_of_its_own_is_told_without_secrets() -> None:
    class Unreachable:
        def call_s3(self, *_: object, **__: object) -> None:
            raise EndpointConnectionError(endpoint_url=SECRET)

    storage = S3Storage(S3Folder(Unreachable(), "bucket", "", "s3://bucket"), part_size=1)
    with pytest.raises(CommitError, match=r"cannot sweep in s3://bucket: .*\*{3}@host.*; make sure that") as caught:
        anyio.run(FilesCommitter(storage).sweep, Transaction(SINK_ID, 1), ())
    assert "hush" not in "".join(format_exception(caught.value))


def test_without_s3fs_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    sink = FilesSink(path="s3://bucket/rows")
    for work in (sink.create_committer, lambda: sink.create_writer(context()), lambda: read_manifest("s3://b/x")):
        with pytest.raises(ConfigurationError, match=r"files in s3://.* need s3fs, .*'asyncsink-files\[s3\]'"):
            work()
