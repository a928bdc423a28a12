"""A connector with a committer, for the tests of the Spark hooks: rows are staged in files, which commits rename."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never, Self
from uuid import uuid4

from asyncsink import (
    Committer,
    ConnectorOptions,
    DataclassSerializer,
    EntryBlock,
    InitContext,
    LostCommittablesError,
    Sink,
    SinkWriter,
    Transaction,
    WriteContext,
    option,
    parse_options,
)
from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo("staging", "asyncsink_staging:StagingSink", "asyncsink_staging:StagingOptions", api_version=1)


@dataclass(frozen=True, kw_only=True)
class StagingOptions(ConnectorOptions):
    folder: str = option(doc="Holds the folders staged and visible, and a log of what the committer is asked.")
    guarantee: str = option(
        "exactly-once", doc="With another the sink has no committer, and files are visible at once."
    )


@dataclass(frozen=True)
class StagedFile:
    """A committable."""

    name: str


class StagingSink(Sink[Mapping[str, Any], StagedFile, Never, Never]):
    committable_serializer = DataclassSerializer(StagedFile)

    def __init__(self, options: StagingOptions) -> None:
        self.options = options

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        (own,) = parse_options(options, StagingOptions)
        return cls(own)

    def create_writer(self, context: InitContext, states: Sequence[Never] = ()) -> StagingWriter:
        return StagingWriter(Path(self.options.folder), context)

    def create_committer(self) -> StagingCommitter | None:
        return StagingCommitter(Path(self.options.folder)) if self.options.guarantee == "exactly-once" else None


class StagingWriter(SinkWriter[Mapping[str, Any], StagedFile, Never]):
    def __init__(self, folder: Path, context: InitContext) -> None:
        self._folder, self._context = folder, context
        self._rows: list[Any] = []

    async def write(self, element: Mapping[str, Any], context: WriteContext | None = None) -> None:
        if element.get("text") == "poison":
            raise ValueError("poison")
        self._rows.append(dict(element))

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        self._rows += block

    async def flush(self, end_of_input: bool = False) -> None:
        """Nothing is on its way."""

    async def prepare_commit(self, flush: bool) -> list[StagedFile]:
        if not self._rows:
            return []
        transaction = self._context.transaction
        folder = "visible" if transaction is None else "staged"
        sink_id = "none" if transaction is None else f"{transaction.sink_id}-{transaction.generation}"
        name = f"{sink_id}-{self._context.writer_id}-{self._context.attempt}-{uuid4().hex[:8]}"
        path = self._folder / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in self._rows))
        self._rows = []
        return [] if transaction is None else [StagedFile(name)]

    async def aclose(self) -> None:
        """Nothing is open."""


class StagingCommitter(Committer[StagedFile]):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def commit(self, committables: Sequence[StagedFile]) -> list[StagedFile]:
        self._note("commit")
        if (trap := self._folder / "fail-the-commit").exists():
            trap.unlink()
            raise OSError("the destination is away")
        (self._folder / "visible").mkdir(exist_ok=True)
        lost = [each for each in committables if not self._is_visible(each.name)]
        if lost:
            raise LostCommittablesError("there is no such file", lost)
        return []

    def _is_visible(self, name: str) -> bool:
        visible = self._folder / "visible" / name
        try:
            (self._folder / "staged" / name).rename(visible)
        except FileNotFoundError:
            return visible.exists()
        return True

    async def abort(self, committables: Sequence[StagedFile]) -> None:
        self._note("abort")
        for each in committables:
            (self._folder / "staged" / each.name).unlink(missing_ok=True)

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        self._note("sweep")
        for path in (self._folder / "staged").glob(f"{transaction.sink_id}-*"):
            if generation_of(path.name) <= transaction.generation:
                path.unlink(missing_ok=True)

    def _note(self, event: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "events").open("a") as file:
            file.write(f"{event} {os.getpid()}\n")


def generation_of(name: str) -> int:
    """The attempt at a batch for which a file was staged."""
    return int(name.split("-")[1])
