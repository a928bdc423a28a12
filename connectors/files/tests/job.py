"""A runner's part, for tests of committers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from asyncsink import Transaction, WriterInitContext
from asyncsink_files import FilesSink
from asyncsink_files.committable import OpenFile, PendingFile
from asyncsink_files.committer import FilesCommitter

from .writing import SINK_ID


class Job:
    """Prepares files, and commits them, as a runner does."""

    def __init__(self, folder: Path | str, sink_id: str = SINK_ID) -> None:
        self.sink, self._sink_id = FilesSink(path=str(folder)), sink_id

    def prepared(self, generation: int, ids: Sequence[int], attempt: int = 0) -> list[PendingFile]:
        """A file for each number, by a writer of this attempt."""

        async def prepare() -> list[PendingFile]:
            files: list[PendingFile] = []
            context = WriterInitContext(attempt=attempt, transaction=Transaction(self._sink_id, generation))
            async with self.sink.create_writer(context) as writer:
                for number in ids:
                    await writer.write({"id": number})
                    files += await writer.prepare_commit(flush=True)
            return files

        return anyio.run(prepare)

    def commit(self, files: Sequence[PendingFile]) -> list[PendingFile]:
        return anyio.run(self.committer().commit, files)

    def sweep(self, generation: int, states: Sequence[OpenFile] = ()) -> None:
        anyio.run(self.committer().sweep, Transaction(self._sink_id, generation), states)

    def committer(self) -> FilesCommitter:
        committer = self.sink.create_committer()
        assert committer is not None
        return committer
