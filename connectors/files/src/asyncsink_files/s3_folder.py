"""A folder of a bucket on S3, as a client of its API: s3fs, whose calls block and may come from any thread."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

from asyncsink.errors import ConfigurationError
from asyncsink.ledger.failure import cause, without_secrets
from asyncsink.ledger.location import Location
from asyncsink.ledger.writing import code_of


class S3Folder:
    """Calls of the API on one bucket, by names within a folder. Raises nothing but :class:`OSError`.

    What a service or a connection refuses for the time being has been tried again by botocore and s3fs.
    """

    def __init__(self, filesystem: Any, bucket: str, folder: str, location: str) -> None:
        self._filesystem, self._bucket = filesystem, bucket
        self._prefix = f"{folder}/" if folder else ""
        self.location = location

    def key(self, name: str) -> str:
        """The key of a name; of "", what all keys begin with."""
        return self._prefix + name

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a call: ``call("head_object", Key=...)``."""
        try:
            answer: dict[str, Any] = self._filesystem.call_s3(method, Bucket=self._bucket, **parameters)
        except OSError:
            raise
        except Exception as error:  # botocore's have a root of their own
            raise OSError(errno.EIO, cause(error)) from without_secrets(error)
        return answer

    def objects(self, folder: str) -> Iterator[str]:
        """The names of the objects in a folder within this one, without it."""
        inside = self.key(f"{folder}/")
        given: dict[str, Any] = {"Prefix": inside, "Delimiter": "/"}
        while True:
            answer = self.call("list_objects_v2", **given)
            yield from (each["Key"].removeprefix(inside) for each in answer.get("Contents", ()))
            if not answer.get("IsTruncated"):
                return
            given["ContinuationToken"] = answer["NextContinuationToken"]

    def uploads(self) -> Iterator[tuple[str, str]]:
        """Name and id of each multipart upload to this folder that is neither complete nor aborted, of anyone."""
        given: dict[str, Any] = {"Prefix": self._prefix, "Delimiter": "/"}
        while True:
            answer = self.call("list_multipart_uploads", **given)
            for each in answer.get("Uploads", ()):
                yield each["Key"].removeprefix(self._prefix), each["UploadId"]
            if not answer.get("IsTruncated"):
                return
            given.update(KeyMarker=answer["NextKeyMarker"], UploadIdMarker=answer["NextUploadIdMarker"])


def is_no_upload(error: OSError) -> bool:
    """Whether S3 says that an upload is not there: it is complete, or aborted."""
    return code_of(error) == "NoSuchUpload"


def open_folder(place: Location) -> S3Folder:
    """The folder at a place of S3; nothing is asked for anything yet.

    :raises ConfigurationError: s3fs is not installed
    """
    require_s3fs(place)
    import s3fs

    bucket, _, folder = place.url.removeprefix("s3://").partition("/")
    # As the ledger has it: fsspec gives both the same client.
    filesystem = s3fs.S3FileSystem(use_listings_cache=False, max_concurrency=1)
    return S3Folder(filesystem, bucket, folder, place.shown)


def require_s3fs(place: Location) -> None:
    """
    :raises ConfigurationError: s3fs is not installed
    """
    try:
        import s3fs  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"files in {place.shown} need s3fs, which is not installed ({cause(error)}); "
            "run pip install 'asyncsink-files[s3]'"
        ) from error
