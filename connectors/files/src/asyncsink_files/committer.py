"""The second phase: pending files get their final names, and what dead attempts have left is removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio.to_thread

from asyncsink.committer import Committer
from asyncsink.errors import CommitError, LostCommittablesError
from asyncsink.transactions import Transaction
from asyncsink_files.committable import OpenFile, PendingFile
from asyncsink_files.failures import told
from asyncsink_files.naming import HIDDEN, base_of, committed_marker, folder_of_sink, marked_generation, origin_of
from asyncsink_files.storage import Storage


class FilesCommitter(Committer[PendingFile]):
    """Shows files. One that is gone, and whose final name is there, was committed before."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def commit(self, committables: Sequence[PendingFile]) -> list[PendingFile]:
        """Commit all files.

        :raises LostCommittablesError: some are there under neither name; the others are committed
        :raises CommitError: the file system refuses it
        """
        if committables:
            await anyio.to_thread.run_sync(self._commit, committables)
        return []

    async def abort(self, committables: Sequence[PendingFile]) -> None:
        await anyio.to_thread.run_sync(self._remove, [each.name for each in committables])

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        kept = {base_of(each.name) for each in states if isinstance(each, OpenFile)}
        await anyio.to_thread.run_sync(self._sweep, transaction, kept)

    def _commit(self, committables: Sequence[PendingFile]) -> None:
        with told("commit files", self._storage.location, CommitError):
            lost = [
                each
                for each in committables
                if not self._storage.show(each.name, each.final, each.receipt) and not self._storage.exists(each.final)
            ]
            # Not only for what was shown just now: a predecessor may have died before this.
            if len(lost) < len(committables):
                self._storage.sync("")
            if not lost:
                self._mark(committables)
        if lost:
            raise LostCommittablesError(
                f"{lost[0].name} is not in {self._storage.location} any more, nor is {lost[0].final}", lost
            )

    def _mark(self, committables: Sequence[PendingFile]) -> None:
        """Let the sweep after this commit know that what is left of its generation is of losing attempts.

        Without the mark it may be of a live query: one that is about to learn that another has the same ledger.
        """
        for marker in sorted({marker for each in committables if (marker := committed_marker(each.name))}):
            if self._storage.names(marker.rpartition("/")[0]):
                self._storage.mark(marker)

    def _remove(self, names: Sequence[str]) -> None:
        with told("remove files", self._storage.location, CommitError):
            self._storage.remove(*names)

    def _sweep(self, transaction: Transaction, kept: set[str]) -> None:
        folder = folder_of_sink(transaction.sink_id)
        with told("sweep", self._storage.location, CommitError):
            names = self._storage.names(folder)
            marked = {name: generation for name in names if (generation := marked_generation(name)) is not None}
            over = [name for name in names if name not in kept and _is_over(name, transaction, {*marked.values()})]
            # A marker goes last: without it a sweep that was cut short would not know of the others.
            over += [name for name, generation in marked.items() if generation <= transaction.generation]
            self._storage.remove(*(f"{folder}/{name}" for name in over))
            self._storage.remove_folder(folder)
            self._storage.remove_folder(HIDDEN)


def _is_over(name: str, transaction: Transaction, marked: set[int]) -> bool:
    """Whether a file is of an attempt that has ended; what a successor has begun meanwhile is its own."""
    origin = origin_of(name)
    if origin is None or origin[0] != transaction.sink_id:
        return False
    generation = origin[1]
    return generation < transaction.generation or (generation == transaction.generation and generation in marked)
