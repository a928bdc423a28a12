"""The staging connector, whose processes wait at named points until they are killed.

``write-1`` is in the writer of micro-batch 1, ``staged-1`` after it has prepared; ``renamed-2`` is after a committable
of attempt 2 was committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Never

from asyncsink_staging import StagedFile, StagingCommitter, StagingSink, StagingWriter, generation_of

from asyncsink import InitContext, WriteContext
from asyncsink.plugins import ConnectorInfo, hookimpl
from asyncsink_testing.crash_points.meeting import meet


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        "stopping", "asyncsink_stopping:StoppingSink", "asyncsink_staging:StagingOptions", api_version=1
    )


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
