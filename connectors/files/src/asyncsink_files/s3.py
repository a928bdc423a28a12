"""Files on S3: multipart uploads to their final keys, which nobody sees before the committer completes them."""

from __future__ import annotations

import errno
import json
from typing import Any, Final

from asyncsink_files.naming import base_of, base_of_final, marked_generation, origin_of
from asyncsink_files.s3_folder import S3Folder, is_no_upload

_ABORTS: Final = 3
"""Times that an upload is aborted at most; should it still be there, the next sweep finds it."""


class S3File:
    """An upload that is begun with its first part. Parts are numbered from 1, and none but the last is smaller."""

    def __init__(self, folder: S3Folder, name: str, final: str, part_size: int) -> None:
        self.name, self.size = name, 0
        self._folder, self._key, self._part_size = folder, folder.key(final), part_size
        self._held = bytearray()
        self._upload_id: str | None = None
        self._etags: list[str] = []

    @property
    def receipt(self) -> str:
        return json.dumps({"upload_id": self._upload_id, "etags": self._etags})

    def write(self, data: bytes | memoryview) -> int:
        self._held += data
        self.size += len(data)
        while len(self._held) >= self._part_size:
            self._upload(self._part_size)
        return len(data)

    def sync(self) -> None:
        if self._held or not self._etags:
            self._upload(len(self._held))

    def close(self) -> None:
        self._held.clear()

    def _upload(self, size: int) -> None:
        if self._upload_id is None:
            self._upload_id = self._folder.call("create_multipart_upload", Key=self._key)["UploadId"]
        part: dict[str, Any] = {"PartNumber": len(self._etags) + 1, "Body": bytes(memoryview(self._held)[:size])}
        answer = self._folder.call("upload_part", Key=self._key, UploadId=self._upload_id, **part)
        self._etags.append(answer["ETag"])
        del self._held[:size]


class S3Storage:
    """Files in a folder of a bucket. Uploads that are not complete count as the files of the hidden folder.

    :param part_size: bytes of a part
    """

    keeps_open = False

    def __init__(self, folder: S3Folder, part_size: int) -> None:
        self._folder, self._part_size = folder, part_size
        self.location = folder.location

    def begin(self, name: str, final: str) -> S3File:
        return S3File(self._folder, name, final, self._part_size)

    def resume(self, name: str, length: int, new_name: str) -> S3File:
        raise FileNotFoundError(errno.ENOENT, "no file on S3 is left open", name)

    def show(self, name: str, final: str, receipt: str) -> bool:
        if not receipt:
            return False
        upload = json.loads(receipt)
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(upload["etags"], 1)]
        try:
            self._folder.call(
                "complete_multipart_upload",
                Key=self._folder.key(final),
                UploadId=upload["upload_id"],
                MultipartUpload={"Parts": parts},
            )
        except FileNotFoundError as error:
            if is_no_upload(error):
                return False
            raise
        return True

    def exists(self, name: str) -> bool:
        try:
            self._folder.call("head_object", Key=self._folder.key(name))
        except FileNotFoundError:
            return False
        return True

    def mark(self, name: str) -> None:
        self._folder.call("put_object", Key=self._folder.key(name), Body=b"")

    def names(self, folder: str) -> list[str]:
        markers = [name for name in self._folder.objects(folder) if marked_generation(name) is not None]
        bases = {base for base, _, _ in self._uploads() if (origin_of(base) or ("",))[0] == base_of(folder)}
        return sorted([*markers, *bases])

    def remove(self, *names: str) -> None:
        bases = {base for name in names if origin_of(base := base_of(name)) is not None}
        if bases:
            for base, final, upload_id in self._uploads():
                if base in bases:
                    self._abort(final, upload_id)
        for name in names:
            if base_of(name) not in bases:
                self._folder.call("delete_object", Key=self._folder.key(name))

    def remove_folder(self, folder: str) -> None:
        """There are no folders."""

    def sync(self, folder: str) -> None:
        """What S3 has answered for is durable."""

    def _uploads(self) -> list[tuple[str, str, str]]:
        """What each of our uploads is called before it is committed, and after, and its id; a repeated call may have
        begun several of one name."""
        return [
            (base, final, upload_id)
            for final, upload_id in self._folder.uploads()
            if (base := base_of_final(final)) is not None and "/" not in final
        ]

    def _abort(self, final: str, upload_id: str) -> None:
        """Abort an upload, and again while S3 still has it: a part that is under way may outlive the first time."""
        upload = {"Key": self._folder.key(final), "UploadId": upload_id}
        for _ in range(_ABORTS):
            try:
                self._folder.call("abort_multipart_upload", **upload)
                self._folder.call("list_parts", **upload)
            except FileNotFoundError as error:
                if is_no_upload(error):
                    return
                raise
