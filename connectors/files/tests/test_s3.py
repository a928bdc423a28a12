"""Files on S3: shown by the committer alone, and swept with care."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from botocore.exceptions import ClientError

from asyncsink import (
    DeliveryError,
    LedgerError,
    LostCommittablesError,
    Transaction,
)
from asyncsink_files import FilesSink, read_manifest
from asyncsink_files.committable import OpenFile, PendingFile
from asyncsink_files.s3 import S3Storage
from asyncsink_files.s3_folder import S3Folder
from asyncsink_files.writer import FilesWriter

from .job import Job
from .killing_s3 import S3Trial, listed
from .reading import rows_in
from .s3 import Bucket
from .trial import ROWS, run
from .writing import SINK_ID, written


@pytest.fixture
def job(bucket: Bucket) -> Job:
    return Job(bucket.url)


def names(files: Sequence[PendingFile]) -> list[str]:
    return sorted(each.final for each in files)


@pytest.mark.parametrize("every", [None, 3])
@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}, {"file_format": "parquet"}], ids=str)
def test_all_elements_are_shown_and_listed_once(
    bucket: Bucket, tmp_path: Path, options: dict[str, Any], every: int | None
) -> None:
    run(FilesSink(path=bucket.url, **options), tmp_path / "state", every=every)
    copy = bucket.copy_to(tmp_path / "copy")
    assert rows_in(copy) == listed(bucket, copy) == ROWS
    assert len(read_manifest(bucket.url)) == (1 if every is None else 4)
    assert bucket.uploads() == []
    assert not (copy / "_asyncsink").exists()


def test_nothing_is_seen_before_the_commit_and_after_it_all_is_in_one_object(job: Job, bucket: Bucket) -> None:
    files = job.prepared(1, [0, 1])
    assert bucket.objects() == []
    assert bucket.uploads() == names(files)
    assert job.commit(files) == []
    assert [name for name in bucket.objects() if name[0] != "_"] == names(files)
    assert [bucket.read(each.final) for each in files] == [b'{"id":0}\n', b'{"id":1}\n']


def test_committing_again_changes_nothing(job: Job, bucket: Bucket) -> None:
    files = job.prepared(1, [0, 1])
    job.commit(files[:1])
    for _ in range(2):
        assert job.commit(files) == []
    assert bucket.uploads() == []
    assert [bucket.read(each.final) for each in files] == [b'{"id":0}\n', b'{"id":1}\n']


def test_what_is_lost_is_told_after_all_others_are_committed(job: Job, bucket: Bucket) -> None:
    files = job.prepared(1, [0, 1, 2])
    anyio.run(job.committer().abort, files[:1])
    with pytest.raises(LostCommittablesError, match=rf"{files[0].name} is not in {bucket.url} any more") as caught:
        job.commit(files)
    assert caught.value.lost == (files[0],)
    assert bucket.objects() == names(files[1:])


def test_what_was_prepared_for_a_disk_is_lost_on_s3(job: Job, tmp_path: Path) -> None:
    files = Job(tmp_path).prepared(1, [0])
    with pytest.raises(LostCommittablesError):
        job.commit(files)


def test_a_sweep_aborts_uploads_of_earlier_attempts_and_nothing_else(job: Job, bucket: Bucket) -> None:
    old, mine = job.prepared(1, [0]), job.prepared(3, [1])
    others = Job(bucket.url, "fedcba9876543210").prepared(1, [2])
    theirs = ["theirs.json", f"deeper/{old[0].final}", f"part-{SINK_ID}-1-0-0-0123456789ab.json.bak/x"]
    for name in theirs:
        bucket.begin_upload(name)
    bucket.put(f"_asyncsink/{SINK_ID}/notes.txt", b"mine")
    job.sweep(3)
    assert bucket.uploads() == sorted([*names(mine), *names(others), *theirs])
    assert bucket.objects() == [f"_asyncsink/{SINK_ID}/notes.txt"]


def test_a_sweep_aborts_each_of_several_uploads_of_one_name(job: Job, bucket: Bucket) -> None:
    """The answer to the first call that began one may have been lost."""
    (file,) = job.prepared(1, [0])
    bucket.begin_upload(file.final)
    job.sweep(3)
    assert bucket.uploads() == []


def test_an_upload_that_outlives_its_abort_is_aborted_again() -> None:
    """As one does while a part of it is under way."""

    class Surviving:
        calls: ClassVar[list[str]] = []

        def call_s3(self, method: str, **given: Any) -> dict[str, Any]:
            self.calls.append(method)
            if method == "list_parts" and self.calls.count(method) == 2:
                raise FileNotFoundError from ClientError({"Error": {"Code": "NoSuchUpload"}}, "ListParts")
            return {"Uploads": [{"Key": f"part-{SINK_ID}-1-0-0-0123456789ab.json", "UploadId": "x"}]}

    storage = S3Storage(S3Folder(Surviving(), "bucket", "", "s3://bucket"), part_size=1)
    storage.remove(f"_asyncsink/{SINK_ID}/{SINK_ID}-1-0-0-0123456789ab")
    assert Surviving.calls == ["list_multipart_uploads", *["abort_multipart_upload", "list_parts"] * 2]


def test_after_a_commit_a_sweep_aborts_what_losing_attempts_of_it_have_left(job: Job, bucket: Bucket) -> None:
    winner, _ = job.prepared(1, [0], attempt=1), job.prepared(1, [0], attempt=0)
    job.commit(winner)
    assert f"_asyncsink/{SINK_ID}/committed-1" in bucket.objects()
    job.sweep(1)
    assert bucket.uploads() == []
    assert bucket.objects() == names(winner)


def test_a_zombie_cannot_commit_what_was_aborted(job: Job, bucket: Bucket) -> None:
    files = job.prepared(1, [0])
    job.sweep(2)
    with pytest.raises(LostCommittablesError):
        job.commit(files)
    assert bucket.objects() == bucket.uploads() == []


def test_nor_can_it_go_on_and_it_is_told_why(bucket: Bucket, tmp_path: Path) -> None:
    sink = S3Trial(tmp_path, {}, bucket).sink()
    sink.points = lambda what: None  # type: ignore[assignment]

    async def write_after_a_sweep(writer: FilesWriter) -> None:
        await writer.write_many(ROWS)
        await writer.flush()
        await Job(bucket.url).committer().sweep(Transaction(SINK_ID, 8), [])
        await writer.write_many(ROWS)
        with pytest.raises(DeliveryError, match=r"cannot write files in s3a://.*; a later attempt has taken this one"):
            await writer.flush()

    written(sink, write_after_a_sweep)


def test_every_commit_finishes_a_file_of_json_lines(bucket: Bucket) -> None:
    async def prepare(writer: FilesWriter) -> list[PendingFile]:
        await writer.write_many(ROWS)
        prepared = await writer.prepare_commit(flush=False)
        assert writer.snapshot_state() == []
        return prepared

    assert [each.rows for each in written(FilesSink(path=bucket.url), prepare)] == [len(ROWS)]


def test_a_state_of_a_file_on_a_disk_is_not_taken_for_one_on_s3(bucket: Bucket) -> None:
    async def nothing(writer: FilesWriter) -> None:
        """It does not come to this."""

    state = OpenFile(f"_asyncsink/{SINK_ID}/{SINK_ID}-1-0-0-0123456789ab", 10, 1, ".json")
    with pytest.raises(LedgerError, match="1 rows that are in no committed file are lost"):
        written(FilesSink(path=bucket.url), nothing, [state])


def test_a_flush_shows_files_where_nobody_commits(bucket: Bucket) -> None:
    async def main() -> list[int]:
        seen = []
        async with FilesSink(path=bucket.url).open() as writer:
            for row in ROWS[:2]:
                await writer.write(row)
                await writer.flush()
                seen.append(len(bucket.objects()))
        return seen

    assert anyio.run(main) == [1, 2]


def test_one_that_is_left_by_an_error_shows_nothing_and_leaves_nothing(bucket: Bucket) -> None:
    async def main() -> None:
        async with FilesSink(path=bucket.url, max_file_size=1).open() as writer:
            await writer.write_many(ROWS)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        anyio.run(main)
    assert bucket.objects() == bucket.uploads() == []


def test_listings_are_read_to_their_last_page() -> None:
    class Paged:
        """Gives each page but the last with a mark at which the next begins."""

        def call_s3(self, method: str, **given: Any) -> dict[str, Any]:
            page = int(given.get("KeyMarker", given.get("ContinuationToken", 0)))
            more = {"IsTruncated": page < 2, "NextKeyMarker": str(page + 1), "NextUploadIdMarker": "x"}
            found = [{"Key": f"rows/f/{page}", "UploadId": f"id {page}"}]
            return {"Uploads": found, "Contents": found, "NextContinuationToken": str(page + 1), **more}

    folder = S3Folder(Paged(), "bucket", "rows", "s3://bucket/rows")
    assert [*folder.objects("f")] == ["0", "1", "2"]
    assert [*folder.uploads()] == [(f"f/{page}", f"id {page}") for page in range(3)]


@pytest.mark.parametrize(("size", "part"), [("128mb", 8 << 20), ("1tb", -(-(1 << 40) // 9000))])
def test_parts_are_large_enough_for_the_largest_file(size: str, part: int) -> None:
    storage: Any = FilesSink.from_options({"path": "s3://bucket/rows", "maxFileSize": size}).storage()
    assert storage.begin("x", "y")._part_size == part
