"""Objects in S3, by s3fs, with a point before and after each that is created."""

from __future__ import annotations

from typing import Any

from fsspec.asyn import sync
from s3fs import S3FileSystem

from asyncsink_testing.crash_points.meeting import creating


class HeldObjects(S3FileSystem):  # type: ignore[misc]
    # Not `_pipe_file`: fsspec runs that in a thread, and only the main one may say which signals it does not hear.
    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Put an object; on the condition that there is none if `mode` is ``"create"``."""
        if mode != "create":
            sync(self.loop, self._pipe_file, path, value, **options)
            return
        with creating(path):
            sync(self.loop, self._pipe_file, path, value, mode=mode, **options)
