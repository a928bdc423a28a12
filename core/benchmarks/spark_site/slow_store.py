"""An object store that takes 50 ms for whatever it is asked, and writes down each time that it is asked.

It lies on the local disk. fsspec has it for ``viewfs://``, a scheme under which Spark's JVM reaches the same files, so
that Spark's checkpoint and the ledger within it have one location, as on any store.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep
from typing import Any

from fsspec import AbstractFileSystem

SCHEME = "viewfs"
LATENCY_S = 0.05
LOG = "ASYNCSINK_BENCH_ROUND_TRIPS"
"""The environment variable that names the file with a line for each round trip."""


class SlowStore(AbstractFileSystem):  # type: ignore[misc]
    protocol = SCHEME

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        """``/x`` for ``viewfs://any/x``."""
        rest = path.removeprefix(f"{SCHEME}://")
        return path if rest == path else f"/{rest.partition('/')[2]}"

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        return self._asked("get", path).read_bytes()[start:end]

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        file = self._asked("put", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb" if mode == "create" else "wb") as opened:
            opened.write(value)

    def rm_file(self, path: str) -> None:
        self._asked("delete", path).unlink()

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        return self._entry(self._asked("head", path))

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        entries = [self._entry(each) for each in sorted(self._asked("list", path).iterdir())]
        return entries if detail else [each["name"] for each in entries]

    def _asked(self, what: str, path: str) -> Path:
        sleep(LATENCY_S)
        stripped = self._strip_protocol(path)
        with Path(os.environ[LOG]).open("a") as log:
            log.write(f"{what} {stripped}\n")
        return Path(stripped)

    @staticmethod
    def _entry(path: Path) -> dict[str, Any]:
        kind = "directory" if path.is_dir() else "file"
        return {"name": str(path), "size": path.stat().st_size, "type": kind}
