"""A file system that renames as HDFS does, onto no other file, and whose writer can be killed at any step."""

from __future__ import annotations

from typing import Any

from fsspec.implementations.local import LocalFileSystem


class Killed(BaseException):
    """The process is no more: nothing that it would do after this happens."""


class Hadoop(LocalFileSystem):  # type: ignore[misc]
    """Files of this machine with HDFS's way to rename.

    :ivar refuses: whether renaming onto a file is refused
    :ivar silent: whether that is no error, as for fsspec's WebHDFS
    :ivar steps: changes until the writer is killed; None if it lives
    """

    cachable = False
    refuses = True
    silent = False
    steps: int | None = None

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        """Rename, unless there is a file of that name."""
        self._step()
        if not self.refuses or not self.exists(path2):
            super().mv(path1, path2, **options)
        elif not self.silent:
            raise OSError("HDFS rename failed")

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        self._step()
        super().rm_file(path)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode == "rb":
            return super()._open(path, mode, **options)
        self._step()
        file = super()._open(path, mode, **options)
        try:
            self._step()  # there is a file by now, and nothing in it
        except Killed:
            file.close()
            raise
        return file

    def _step(self) -> None:
        if self.steps is None:
            return
        if self.steps == 0:
            raise Killed
        self.steps -= 1
