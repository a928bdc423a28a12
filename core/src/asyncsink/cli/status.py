"""What the ledgers beneath a checkpoint say: what was committed, what was learned, and what became of rows.

A query may run meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from asyncsink.cli.attempts import Attempt, last_attempt, last_committed
from asyncsink.cli.destination import Destination, Question
from asyncsink.dead_letters.location import shown
from asyncsink.errors import LedgerError
from asyncsink.ledger import FOLDER, BatchProgress, Ledger, LedgerState, Store, open_store, query_id_of
from asyncsink.limits.hints import read_hint
from asyncsink.transactions.log import FOLDER as TRANSACTIONS

_READS_AT_ONCE: Final = 16
"""A thousand files of an object store, one after the other, would take a minute."""

LOCAL: Final = "run_local"
"""Stands for the sink where the location is the ``state_dir`` of `run_local`, which names none."""


@dataclass(frozen=True, slots=True)
class LearnedLimit:
    """What the rate limit of one scope has learned in one worker process.

    :param scope: the destination by its fingerprint, and the scope in it
    :param strategy: whose number it is; None if the strategy is none of ours
    :param limit: its number; None if the strategy is none of ours
    """

    scope: str
    strategy: str | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over batches."""

    batches: int
    rows_in: int
    rows: int
    dead_lettered: int
    dropped: int
    retried: int
    throttled: int

    @classmethod
    def of(cls, batches: Sequence[BatchProgress]) -> Counts:
        """The sums over `batches`."""
        return cls(
            batches=len(batches),
            rows_in=sum(each.rows_in for each in batches),
            rows=sum(each.rows for each in batches),
            dead_lettered=sum(each.dead_lettered for each in batches),
            dropped=sum(each.dropped for each in batches),
            retried=sum(each.retried for each in batches),
            throttled=sum(each.throttled for each in batches),
        )


NONE: Final = Counts.of(())


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """What the ledger of one sink says.

    :param query_id: of the query that the ledger is of; None for batch jobs
    :param batch_id: the last batch that was committed; None before the first
    :param committed_at_ms: when, in ms since the epoch; None if that is not kept
    :param writers: tasks that were at work at once in the last batch that had rows
    :param writer_states: states that writers have left to the next batch
    :param writer_states_bytes: their size
    :param kept: sums over all batches whose progress is kept
    :param last: the last of them, newest last
    :param attempt: the last attempt at a batch; None if the sink does not commit in two phases
    :param destination: what is open there; None unless it was asked
    :param warning: what an operator should know of Spark's checkpoint beside it
    :param errors: why the ledger, or a part of it, cannot be read
    """

    sink: str
    location: str
    query_id: str | None = None
    batch_id: int | None = None
    committed_at_ms: int | None = None
    writers: int | None = None
    learned: tuple[LearnedLimit, ...] = ()
    writer_states: int = 0
    writer_states_bytes: int = 0
    kept: Counts = NONE
    last: tuple[BatchProgress, ...] = ()
    attempt: Attempt | None = None
    destination: Destination | None = None
    warning: str | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """What lies beneath one location.

    :param query_id: of the query that Spark's own checkpoint is of; None if there is none
    :param spark_batch_id: the last batch that Spark has noted as committed there
    :param error: why nothing, or nothing of Spark's own checkpoint, can be told
    """

    location: str
    query_id: str | None = None
    spark_batch_id: int | None = None
    sinks: tuple[SinkStatus, ...] = ()
    error: str | None = None

    @property
    def failed(self) -> bool:
        """Whether anything that was asked for cannot be told."""
        if self.error is not None or any(each.errors for each in self.sinks):
            return True
        return any(each.destination is not None and each.destination.error is not None for each in self.sinks)


def status(location: str, last: int, question: Question | None = None) -> Status:
    """Read all ledgers beneath a checkpoint, a ``ledgerLocation`` or a ``stateLocation``; errors are in the answer.

    The ``state_dir`` of `run_local` will do too, which is the folder of one sink.

    :param last: batches of each sink to tell one by one
    :param question: to ask the destination of one of the sinks, before its ledger is read
    """
    try:
        store = open_store(location)
    except LedgerError as error:
        return Status(shown(location), error=str(error))
    try:
        ledgers = store.within(FOLDER)
        sinks = ledgers.folders("")
        if not sinks and store.names(TRANSACTIONS):
            return Status(store.location, sinks=(_sink(LOCAL, store, last, question),))
        if not sinks:
            return Status(store.location, error=_nothing(store.location))
        if question is not None and question.connector not in sinks:
            return Status(store.location, error=_not_there(store.location, question.connector, sinks))
        asked = {question.connector: question} if question is not None else {}
        found = [_sink(each, ledgers.within(each), last, asked.get(each)) for each in sinks]
    except LedgerError as error:
        return Status(store.location, error=str(error))
    return _beside_spark(store, found)


def _nothing(location: str) -> str:
    return (
        f"there is no ledger in {location}: looked for folders in {location.rstrip('/')}/{FOLDER}; name the "
        "checkpointLocation or ledgerLocation of a query, or the stateLocation of a batch job, that has committed a "
        "batch with asyncsink"
    )


def _not_there(location: str, connector: str, sinks: Sequence[str]) -> str:
    return (
        f"there is no ledger of {connector!r} in {location}, so that its destination was not asked; --connect takes "
        f"one of those that are there: {', '.join(sinks)}"
    )


def _sink(sink: str, store: Store, last: int, question: Question | None) -> SinkStatus:
    ledger, attempt = Ledger(store), None
    state, batches, errors = LedgerState(), [], []
    destination = None if question is None else question.asked(store)
    try:
        state, attempt = _state(ledger, store), last_attempt(store)
    except LedgerError as error:
        errors.append(str(error))
    try:
        batches = _batches(ledger)
    except LedgerError as error:
        errors.append(str(error))
    states = [data for kept in state.writer_states.values() for _, data in kept]
    return SinkStatus(
        sink=sink,
        location=store.location,
        query_id=state.query_id,
        batch_id=state.batch_id,
        committed_at_ms=next((each.committed_at_ms for each in batches if each.batch_id == state.batch_id), None),
        writers=state.writers,
        learned=tuple(_learned(scope, each) for scope, found in sorted(state.learned.items()) for each in found),
        writer_states=len(states),
        writer_states_bytes=sum(map(len, states)),
        kept=Counts.of(batches),
        last=tuple(batches[-last:] if last else ()),
        attempt=attempt,
        destination=destination,
        errors=tuple(errors),
    )


def _state(ledger: Ledger, store: Store) -> LedgerState:
    """The state after the last commit; that of `run_local`, which notes no progress, is in its log alone."""
    if (state := ledger.read()) is not None:
        return state
    decided = last_committed(store)
    return LedgerState() if decided is None else replace(decided.after, batch_id=decided.batch_id)


def _batches(ledger: Ledger) -> list[BatchProgress]:
    """The progress that is kept, in order, without what is removed meanwhile."""
    with ThreadPoolExecutor(_READS_AT_ONCE) as threads:
        return [each for each in threads.map(ledger.progress, ledger.batches()) if each is not None]


def _learned(scope: str, snapshot: bytes) -> LearnedLimit:
    return LearnedLimit(scope, *(read_hint(snapshot) or (None, None)))


def _beside_spark(store: Store, sinks: Sequence[SinkStatus]) -> Status:
    """The ledgers, held against the checkpoint in which they lie, if it is one."""
    try:
        query_id = query_id_of(store)
        # Listed after the ledgers are read: of a query that runs, Spark's note comes last.
        noted, planned = _last(store, "commits"), _last(store, "offsets")
    except LedgerError as error:
        return Status(store.location, sinks=tuple(sinks), error=str(error))
    if query_id is None:
        return Status(store.location, sinks=tuple(sinks))
    told = tuple(replace(each, warning=_warning(each, query_id, noted, planned)) for each in sinks)
    return Status(store.location, query_id, noted, told)


def _last(checkpoint: Store, folder: str) -> int | None:
    return max((int(name) for name in checkpoint.names(folder) if name.isdigit()), default=None)


def _warning(sink: SinkStatus, query_id: str, noted: int | None, planned: int | None) -> str | None:
    batch_id = sink.batch_id
    if batch_id is None:
        return None
    if sink.query_id != query_id:
        return (
            f"this ledger is that of {_whose(sink.query_id)}, but the checkpoint is that of query {query_id}, which "
            "refuses to go on with it; give each query a ledger of its own, or remove this one"
        )
    last = -1 if noted is None else noted
    if last == batch_id - 1 and (planned is None or planned < batch_id):
        return (
            f"Spark's checkpoint knows nothing of batch {batch_id}: it was rewound, and Spark plans the batch anew, "
            "perhaps of other rows. The query refuses to go on where that can be told, and skips the batch where not; "
            "remove the ledger before you start it, and the rows are sent again"
        )
    if last == batch_id - 1:
        return (
            f"Spark has not noted batch {batch_id} as committed: unless the query is doing so now, Spark repeats the "
            "batch when the query starts, and its rows, if they are as many as before, are not sent again"
        )
    if last < batch_id:
        return (
            f"Spark has noted {'no batch' if noted is None else f'batch {noted}'} as the last one: the checkpoint was "
            "rewound, and the query refuses to go on; to send the rows again, remove the ledger"
        )
    return None


def _whose(query_id: str | None) -> str:
    return "batch jobs" if query_id is None else f"query {query_id}"
