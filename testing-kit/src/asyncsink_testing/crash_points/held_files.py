"""Files of this machine, as an object store keeps them, with a point before and after each that is created."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

from fsspec.implementations.local import LocalFileSystem

from asyncsink_testing.crash_points.meeting import creating


class HeldFiles(LocalFileSystem):  # type: ignore[misc]
    """A back end for ledgers: ``held:<folder>``."""

    protocol = "held"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("held://")))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Put a file; exclusively if `mode` is ``"create"``."""
        target = Path(self._strip_protocol(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        written = target.with_name(f".{target.name}.{uuid4().hex}")
        written.write_bytes(value)
        if mode != "create":
            written.replace(target)
            return
        try:
            with creating(str(target)):
                os.link(written, target)
        finally:
            written.unlink()
