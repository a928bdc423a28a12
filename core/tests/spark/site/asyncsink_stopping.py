"""The staging connector and a file system for its ledger, whose processes wait at named points until they are killed.

A test names points by files in the folder of the environment variable `POINTS`: ``write-1`` is in the writer of
micro-batch 1, ``staged-1`` after it has prepared, ``before-slot-2`` and ``after-slot-2`` are around the creation of a
file of the ledger, ``renamed-2`` is after a committable of attempt 2 was committed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Never
from uuid import uuid4

from asyncsink_staging import StagedFile, StagingCommitter, StagingSink, StagingWriter, generation_of
from fsspec.implementations.local import LocalFileSystem

from asyncsink import InitContext, WriteContext
from asyncsink.plugins import ConnectorInfo, hookimpl

DEAF = "deaf"
"""What a file holds that names a point from where on the process does not hear that its daemon is gone."""


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        "stopping", "asyncsink_stopping:StoppingSink", "asyncsink_staging:StagingOptions", api_version=1
    )


def meet(point: str) -> None:
    """Wait here if a test wants that; only the first process that comes to the point does."""
    named = Path(os.environ["POINTS"], point)
    try:
        how = named.read_text()
        named.unlink()
    except FileNotFoundError:
        return
    if how == DEAF:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    named.with_suffix(".reached").write_text(f"{os.getpid()}\n")
    # A pipe: this ends when the test opens it too.
    named.with_suffix(".resume").read_bytes()


class HeldFiles(LocalFileSystem):  # type: ignore[misc]
    """Files of this machine, as an object store keeps them, with a point before and after each that is created."""

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
        meet(f"before-{target.name}")
        try:
            os.link(written, target)
        finally:
            written.unlink()
        meet(f"after-{target.name}")


class StoppingSink(StagingSink):
    def create_writer(self, context: InitContext, states: Sequence[Never] = ()) -> StagingWriter:
        return StoppingWriter(Path(self.options.folder), context)

    def create_committer(self) -> StagingCommitter:
        return StoppingCommitter(Path(self.options.folder))


class StoppingWriter(StagingWriter):
    async def write(self, element: Mapping[str, Any], context: WriteContext | None = None) -> None:
        await super().write(element, context)
        meet(f"write-{self._context.batch_id}")

    async def prepare_commit(self, flush: bool) -> list[StagedFile]:
        staged = await super().prepare_commit(flush)
        meet(f"staged-{self._context.batch_id}")
        return staged


class StoppingCommitter(StagingCommitter):
    def _is_visible(self, name: str) -> bool:
        is_visible = super()._is_visible(name)
        meet(f"renamed-{generation_of(name)}")
        return is_visible
