"""The staging connector, whose processes wait at named points until they are killed.

A test names points by files in the folder ``points`` of a query, which is in that of the environment variable
`QUERIES`: ``write-1`` is in the writer of micro-batch 1, ``staged-1`` after it has prepared, ``renamed-2`` is after a
committable of attempt 2 was committed. ``before-slot-2`` and ``after-slot-2`` are around the creation of a file of the
ledger, by the file systems `held_files` and `held_objects`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Never

from asyncsink_staging import StagedFile, StagingCommitter, StagingSink, StagingWriter, generation_of

from asyncsink import InitContext, WriteContext
from asyncsink.plugins import ConnectorInfo, hookimpl

DEAF = "deaf"
"""What a file holds that names a point from where on the process does not hear that its daemon is gone."""


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        "stopping", "asyncsink_stopping:StoppingSink", "asyncsink_staging:StagingOptions", api_version=1
    )


def meet(query: str, point: str) -> None:
    """Wait here if a test wants that; only the first process that comes to the point does."""
    named = Path(os.environ["QUERIES"], query, "points", point)
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


@contextmanager
def creating(path: str) -> Iterator[None]:
    """A point before a file of a ledger is created, and one after it was; ``<query>/ledger`` is in its path."""
    query, name = path.partition("/ledger/")[0].rpartition("/")[2], path.rpartition("/")[2]
    meet(query, f"before-{name}")
    yield
    meet(query, f"after-{name}")


class StoppingSink(StagingSink):
    def create_writer(self, context: InitContext, states: Sequence[Never] = ()) -> StagingWriter:
        return StoppingWriter(Path(self.options.folder), context)

    def create_committer(self) -> StagingCommitter:
        return StoppingCommitter(Path(self.options.folder))


class StoppingWriter(StagingWriter):
    async def write(self, element: Mapping[str, Any], context: WriteContext | None = None) -> None:
        await super().write(element, context)
        meet(self._folder.name, f"write-{self._context.batch_id}")

    async def prepare_commit(self, flush: bool) -> list[StagedFile]:
        staged = await super().prepare_commit(flush)
        meet(self._folder.name, f"staged-{self._context.batch_id}")
        return staged


class StoppingCommitter(StagingCommitter):
    def _is_visible(self, name: str) -> bool:
        is_visible = super()._is_visible(name)
        meet(self._folder.name, f"renamed-{generation_of(name)}")
        return is_visible
