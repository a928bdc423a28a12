"""What became of each micro-batch, told to a program while its query runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from asyncsink.errors import LedgerError
from asyncsink.ledger import FOLDER, BatchProgress, Ledger, open_store

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

logger = logging.getLogger(__name__)

_MOST_BEHIND: Final = 100
"""Batches that are looked for behind the newest one; those of a query that went on without its ledger are not there."""


def log_batch(progress: BatchProgress) -> None:
    """Write one line about a micro-batch to the log."""
    logger.info(
        "asyncsink.%s batch %s: %d rows in, %d stored, %d dead-lettered, %d dropped; %d sent again, %d throttled",
        progress.sink,
        progress.batch_id,
        progress.rows_in,
        progress.rows,
        progress.dead_lettered,
        progress.dropped,
        progress.retried,
        progress.throttled,
    )


class ProgressListener(StreamingQueryListener):
    """Tells what became of each micro-batch of one query, once for each and in order, on the driver.

    ::

        spark.streams.addListener(ProgressListener("/data/checkpoint", print))

    Spark's event of a batch only makes it look: what it tells is the batch's file in the ledger, which is written when
    the sink commits. That is before Spark posts the event; should the file be seen later all the same, it is read with
    the next event, or when the query ends. Of a batch whose file comes never, as no task had a row, nothing is told.
    Batches from before the first event are not told either.

    It never raises into Spark: what fails is a warning in the log, as is what `on_batch` raises. With Spark Connect it
    runs in the client, which must then be able to read the location.

    An event costs one read; an event of another query nothing, once that is known.

    :param location: the query's checkpointLocation, or its ledgerLocation if it has one
    :param on_batch: is called in Spark's thread for listeners, which waits for it; by default one line is logged
    :raises LedgerUnavailableError: no ledger can be kept in `location`; nothing is read yet
    """

    def __init__(self, location: str, on_batch: Callable[[BatchProgress], object] = log_batch) -> None:
        self._sinks = open_store(location).within(FOLDER)
        self._on_batch = on_batch
        self._ledgers: dict[str, Sequence[Ledger]] = {}
        self._next: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._said: set[str] = set()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """A query may have a ledger from now on that it had not when it last ran."""
        self._ledgers.pop(str(event.id), None)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Tell of the batch that has ended, and first of those before it that were not there yet."""
        query_id, batch_id = str(event.progress.id), event.progress.batchId
        told = self._next.setdefault(query_id, batch_id)
        if batch_id < told - 1:
            # The last batch is repeated after a restart; an older one only if the query was rewound.
            self._next[query_id] = batch_id
        self._newest[query_id] = batch_id
        self._guarded(query_id, self._tell)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """No batch has ended."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Tell of what was not there when its event came."""
        query_id = str(event.id)
        if query_id in self._newest:
            self._guarded(query_id, self._tell_rest)
            del self._newest[query_id]

    def _guarded(self, query_id: str, tell: Callable[[str], None]) -> None:
        try:
            tell(query_id)
        except LedgerError as error:
            self._warn(f"what became of the batches of query {query_id} cannot be told: {error}")
        except Exception:
            # An error of a listener is none of the query.
            logger.warning("what became of the batches of query %s cannot be told", query_id, exc_info=True)

    def _warn(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            logger.warning("%s", sentence)

    def _tell(self, query_id: str) -> None:
        """Tell of the newest batch, if its file is there: then those of all before it are, or never come."""
        newest = self._newest[query_id]
        if newest < self._next[query_id]:
            return
        progress = self._read(query_id, newest)
        if progress is not None:
            self._tell_until(query_id, newest)
            self._hand_over(query_id, progress)

    def _tell_rest(self, query_id: str) -> None:
        self._tell_until(query_id, self._newest[query_id] + 1)

    def _tell_until(self, query_id: str, end: int) -> None:
        for batch_id in range(max(self._next[query_id], end - _MOST_BEHIND), end):
            progress = self._read(query_id, batch_id)
            if progress is not None:
                self._hand_over(query_id, progress)

    def _hand_over(self, query_id: str, progress: BatchProgress) -> None:
        assert progress.batch_id is not None
        self._next[query_id] = progress.batch_id + 1
        try:
            self._on_batch(progress)
        except Exception:
            # The next batch is told all the same.
            logger.warning("on_batch has failed for batch %d of query %s", progress.batch_id, query_id, exc_info=True)

    def _read(self, query_id: str, batch_id: int) -> BatchProgress | None:
        ledgers = self._ledgers_of(query_id)
        for ledger in ledgers:
            progress = ledger.progress(batch_id)
            if progress is not None and progress.query_id == query_id:
                return progress
        if ledgers:
            # It may be in the ledger of another sink, which the query has begun meanwhile.
            self._ledgers.pop(query_id, None)
        return None

    def _ledgers_of(self, query_id: str) -> Sequence[Ledger]:
        """The ledgers of a query; those of others are looked at once."""
        known = self._ledgers.get(query_id)
        if known is None:
            found = [Ledger(self._sinks.within(sink)) for sink in self._sinks.folders("")]
            states = [(ledger, state) for ledger in found if (state := ledger.read()) is not None]
            known = [ledger for ledger, state in states if state.query_id == query_id]
            if states:
                self._ledgers[query_id] = known
        return known
