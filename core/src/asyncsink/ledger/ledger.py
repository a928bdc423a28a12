"""The ledger of one sink: what was committed, what was learned, and what became of each batch."""

from __future__ import annotations

import json
import logging
from typing import Final
from uuid import uuid4

from asyncsink.errors import LedgerError
from asyncsink.ledger.progress import BatchProgress
from asyncsink.ledger.state import LedgerState
from asyncsink.ledger.store import Store

logger = logging.getLogger(__name__)

FOLDER: Final = "asyncsink"
"""Beneath a checkpoint; each sink has a folder of its name in it."""

KEPT_PROGRESS: Final = 1_000
_PRUNE_EVERY: Final = 100
_STATE, _PROGRESS = "state.json", "progress"


class Ledger:
    """The ledger of one sink in a store. No round trip is made that is not said here.

    One process at a time writes it: the one in which Spark commits. Nothing in it is needed so that no row is lost.

    :param store: the folder of the sink
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def location(self) -> str:
        """Where it lies, as messages may show it."""
        return self._store.location

    def read(self) -> LedgerState | None:
        """The state after the last commit; None before the first. One round trip.

        :raises LedgerError: it cannot be read, is damaged, or a newer release has written it
        """
        data = self._store.read(_STATE)
        return None if data is None else LedgerState.from_bytes(data, f"{self.location}/{_STATE}")

    def commit(self, state: LedgerState, progress: BatchProgress) -> None:
        """Keep what became of a batch, and then the state after it. Two round trips.

        Once in a hundred batches two or three more keep the ledger small, where the store removes many files at once.
        Where this fails, it is a warning.

        :raises LedgerError: it cannot be written
        """
        if progress.batch_id is not None:
            self._store.replace(_name(progress.batch_id), progress.to_bytes())
        self._store.replace(_STATE, state.to_bytes())
        if progress.batch_id is not None and progress.batch_id % _PRUNE_EVERY == _PRUNE_EVERY - 1:
            self._tidy(progress.batch_id)

    def _tidy(self, batch_id: int) -> None:
        try:
            if outdated := self.batches()[:-KEPT_PROGRESS]:
                self._store.remove(*map(_name, outdated))
            for folder in ("", _PROGRESS):
                self._store.sweep(folder)
        except LedgerError as error:
            # Were it raised, Spark would fail a batch whose rows are stored and whose state is kept.
            logger.warning("batch %d is committed, but files that nobody needs stay in its ledger: %s", batch_id, error)

    def batches(self) -> list[int]:
        """The batches whose progress is kept, in order. One round trip."""
        numbers = (name.removesuffix(".json") for name in self._store.names(_PROGRESS))
        return sorted(int(number) for number in numbers if number.isdigit())

    def progress(self, batch_id: int) -> BatchProgress | None:
        """What became of a batch; None if it is not kept. One round trip."""
        data = self._store.read(_name(batch_id))
        return None if data is None else BatchProgress.from_bytes(data, f"{self.location}/{_name(batch_id)}")

    def noted_s(self, batch_id: int) -> float | None:
        """When what became of a batch was written, by the store's clock; None if nobody can tell. One round trip."""
        return self._store.modified_s(_name(batch_id))

    def probe(self) -> None:
        """Try whether files can be created there, for a ledger that is begun; leaves none. A few round trips.

        :raises LedgerUnavailableError: the store creates no file exclusively
        :raises LedgerError: nothing can be written there
        """
        name = f"probe-{uuid4().hex}"
        self._store.create(name, b"")
        self._store.remove(name)


def query_id_of(checkpoint: Store) -> str | None:
    """The id that Spark has written into a checkpoint; None if there is no such file. One round trip.

    :raises LedgerError: the file cannot be read, or is not what Spark writes
    """
    data = checkpoint.read("metadata")
    if data is None:
        return None
    try:
        return str(json.loads(data)["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError(
            f"{checkpoint.location}/metadata holds no id of a query, as Spark writes it ({type(error).__name__}); "
            "is checkpointLocation that of a stream?"
        ) from error


def _name(batch_id: int) -> str:
    return f"{_PROGRESS}/{batch_id}.json"
