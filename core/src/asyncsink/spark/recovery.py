"""The ledger between Spark's processes: read where a batch is planned, heeded in its tasks, written where it commits.

Planner and commit process serve many queries and are replaced at any time: what they remember are caches.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from asyncsink.errors import LedgerError, LedgerUnavailableError
from asyncsink.ledger import FOLDER, BatchProgress, KeptState, Ledger, LedgerState, Store, open_store, query_id_of
from asyncsink.options.door import DoorOptions
from asyncsink.spark.commit import TaskCommit
from asyncsink.transactions.transaction import Transaction

logger = logging.getLogger(__name__)

MOST_SCOPES: Final = 500
"""Whose limits are kept: the planner pickles them into every task."""

_said: set[str] = set()
_committed: dict[str, LedgerState] = {}


@dataclass(frozen=True)
class Recovered:
    """What the planner has found in the ledger; Spark pickles it into every task of the batch.

    :param location: of the ledger, for messages
    :param state: after the last commit
    :param is_new: whether nothing was ever committed to this ledger
    :param transaction: what the tasks prepare for; None where a sink has no committer
    :param jobs: names of the batch jobs that were committed last
    """

    location: str
    state: LedgerState
    is_new: bool = False
    transaction: Transaction | None = None
    jobs: tuple[str, ...] = ()

    def is_of(self, query_id: str | None) -> bool:
        """Whether the ledger is that of the query which runs the task.

        :raises LedgerError: it is another query's
        """
        if self.state.query_id == query_id or (self.is_new and self.state.query_id is None):
            return True
        if not self.is_new:
            raise LedgerError(
                f"the ledger {self.location} is that of query {self.state.query_id}, but this is query {query_id}: "
                "the checkpoint was made anew or copied, or two queries share a ledgerLocation; give each query a "
                "ledger of its own, or remove this one"
            )
        if self.transaction is not None:
            raise LedgerError(
                f"checkpointLocation leads asyncsink to the checkpoint of query {self.state.query_id}, but this is "
                f"query {query_id}: it cannot see Spark's checkpoint, where it would remember what is committed; "
                "name a ledgerLocation of this query alone"
            )
        say_once(
            f"checkpointLocation leads asyncsink to the checkpoint of query {self.state.query_id}, but this is query "
            f"{query_id}; it goes on without a ledger: rows go out at least once, and limits are learned anew"
        )
        return False

    def is_committed(self, batch_id: int) -> bool:
        """Whether Spark repeats the batch that was committed last, so that all its rows are stored.

        By its number, which is all that a task knows; whether it is the same batch, :func:`keep` looks at.

        :raises LedgerError: a batch after this one was committed before
        """
        committed = self.state.batch_id
        if committed is not None and batch_id < committed:
            raise LedgerError(
                f"Spark asks for batch {batch_id}, but the ledger {self.location} says that batch {committed} was "
                "committed: the checkpoint was rewound. Were it skipped, rows could be lost; to send them again, "
                "remove the ledger"
            )
        return batch_id == committed

    def states_of(self, partition: int) -> tuple[KeptState, ...]:
        """What the writer of this partition takes over."""
        return tuple(self.state.writer_states.get(partition, ()))

    @property
    def all_states(self) -> tuple[KeptState, ...]:
        """What all writers have left, once where several have left the same."""
        return tuple(dict.fromkeys(each for states in self.state.writer_states.values() for each in states))


def recover(connector: str, door: DoorOptions, streaming: bool) -> Recovered | None:
    """Read the ledger for a batch that is being planned; None where there is to be none. One round trip, as a rule.

    :raises LedgerError: it cannot be read or written, is damaged, or a newer release has written it
    """
    if not streaming and door.state_location is None:
        return None
    try:
        ledger = _opened(connector, door, streaming)
    except LedgerUnavailableError as error:
        _go_on_without(error)
        return None
    state = ledger.read()
    if state is not None:
        return Recovered(ledger.location, state)
    try:
        query_id = proof(door) if streaming else None
        ledger.probe()
    except LedgerUnavailableError as error:
        _go_on_without(error)
        return None
    return Recovered(ledger.location, LedgerState(query_id=query_id), is_new=True)


def _opened(connector: str, door: DoorOptions, streaming: bool) -> Ledger:
    """Of a stream, or of a batch job with a stateLocation; raises as :func:`store_of` does."""
    store = store_of(connector, door, streaming)
    assert store is not None
    return Ledger(store)


def store_of(connector: str, door: DoorOptions, streaming: bool) -> Store | None:
    """Where a stream or a batch job keeps its ledger; None for a batch job without a stateLocation.

    :raises LedgerUnavailableError: no location is given for a stream, or there can be no ledger
    """
    location = (door.ledger_location or door.checkpoint_location) if streaming else door.state_location
    if location is not None:
        return open_store(location).within(FOLDER).within(connector)
    if streaming:
        raise LedgerUnavailableError("asyncsink was given no checkpointLocation: give it as an option of the query")
    return None


def proof(door: DoorOptions) -> str | None:
    """The id of the query whose checkpoint the ledger lies in; None where the user has placed the ledger elsewhere."""
    checkpoint = _checkpoint(door)
    if checkpoint is None:
        return None
    query_id = query_id_of(checkpoint)
    if query_id is None:
        raise LedgerUnavailableError(
            f"{checkpoint.location} holds no file metadata of Spark's, so Spark sees another place by this name"
        )
    return query_id


def _checkpoint(door: DoorOptions) -> Store | None:
    """The checkpoint that the ledger lies in; None where the user has placed the ledger elsewhere."""
    if door.ledger_location is not None or door.checkpoint_location is None:
        return None
    return open_store(door.checkpoint_location)


def keep(connector: str, door: DoorOptions, streaming: bool, progress: BatchProgress, tasks: list[TaskCommit]) -> None:
    """Commit a batch to the ledger, if it has one. Two round trips, as a rule; three if the batch is only repeated.

    :raises LedgerError: the ledger that the tasks had cannot be opened or written, writers have left states and there
        is no ledger, or the batch is not the one that was committed by its number; Spark then repeats the batch
    """
    if not tasks or not all(task.is_kept for task in tasks):
        _check_nothing_is_left(connector, streaming, tasks)
        return
    ledger = _reopened(connector, door, streaming)
    if progress.skipped:
        check_repeated(ledger, door, progress)
        return
    before = _committed.get(ledger.location)
    if before is None or before.batch_id != tasks[0].follows or before.query_id != progress.query_id:
        before = ledger.read() or LedgerState()
    if not streaming:
        progress = replace(progress, batch_id=0 if before.batch_id is None else before.batch_id + 1)
    state = succeeding(before, progress, tasks)
    progress = replace(progress, writer_states=sum(map(len, state.writer_states.values())))
    ledger.commit(state, progress)
    _committed[ledger.location] = state


def _reopened(connector: str, door: DoorOptions, streaming: bool) -> Ledger:
    try:
        return _opened(connector, door, streaming)
    except LedgerUnavailableError as error:
        raise LedgerError(
            f"the batch of {connector!r} was planned with a ledger, which cannot be opened where it is committed, on "
            f"the driver: {error}"
        ) from error


def _check_nothing_is_left(connector: str, streaming: bool, tasks: Sequence[TaskCommit]) -> None:
    left = sum(len(task.states) for task in tasks)
    if left:
        remedy = (
            "option checkpointLocation of the query, or ledgerLocation where no ledger can be kept beneath it"
            if streaming
            else "option stateLocation of the job"
        )
        raise LedgerError(
            f"the writers of {connector!r} leave {left} states to the next batch, and no ledger keeps them, so that "
            f"they would be lost; give the {remedy}"
        )


def check_repeated(ledger: Ledger, door: DoorOptions, repeated: BatchProgress) -> None:
    """See that a batch which was skipped is the one that was committed by its number.

    :raises LedgerError: it is another one
    """
    assert repeated.batch_id is not None
    committed = ledger.progress(repeated.batch_id)
    if committed is None:
        logger.warning(
            "the ledger %s has no progress of batch %d any more, so it is taken for the one that was committed by its "
            "number alone",
            ledger.location,
            repeated.batch_id,
        )
    elif committed.rows_in != repeated.rows_in:
        raise LedgerError(
            f"Spark has handed over {repeated.rows_in} rows as batch {repeated.batch_id}, but the ledger "
            f"{ledger.location} says that batch {repeated.batch_id} was committed with {committed.rows_in}: another "
            "batch by the same number: the checkpoint was rewound, or the query changed. Were it skipped, rows could "
            "be lost; to send them, remove the ledger"
        )
    elif _is_planned_anew(ledger, door, repeated.batch_id):
        raise LedgerError(
            f"Spark has planned batch {repeated.batch_id} after the ledger {ledger.location} had noted its end: "
            "another batch by the same number: the checkpoint was rewound, or copied without the times of its files. "
            "Were it skipped, rows could be lost; to send them, remove the ledger"
        )


def _is_planned_anew(ledger: Ledger, door: DoorOptions, batch_id: int) -> bool:
    """Whether Spark has written what the batch is to read after the ledger noted its end: it may hold other rows.

    Only where both lie in one store, whose clock tells.
    """
    checkpoint = _checkpoint(door)
    if checkpoint is None:
        return False
    planned_s, noted_s = checkpoint.modified_s(f"offsets/{batch_id}"), ledger.noted_s(batch_id)
    return planned_s is not None and noted_s is not None and planned_s > noted_s


def succeeding(before: LedgerState, progress: BatchProgress, tasks: Sequence[TaskCommit]) -> LedgerState:
    """The state after a batch: what nobody has learned anew, or taken over, stays."""
    learned: dict[str, dict[str, bytes]] = {}
    for task in tasks:
        for scope, snapshot in task.learned:
            learned.setdefault(scope, {})[task.worker] = snapshot
    states = {task.partition: task.states for task in tasks if task.states}
    claimed = {partition for task in tasks for partition in task.claimed}
    for partition, kept in before.writer_states.items():
        if partition not in claimed:
            # There may be fewer partitions from now on: who has no successor is taken over by another.
            heir = partition % len(tasks)
            states[heir] = (*states.get(heir, ()), *kept)
    return LedgerState(
        query_id=progress.query_id,
        batch_id=progress.batch_id,
        writers=progress.writers or before.writers,
        learned=_newest(before.learned, {scope: tuple(found.values()) for scope, found in learned.items()}),
        writer_states=states,
    )


def _newest(before: Mapping[str, tuple[bytes, ...]], now: Mapping[str, tuple[bytes, ...]]) -> dict[str, Any]:
    """What was learned last, of so many scopes as the ledger keeps: some sinks have a route for each customer."""
    kept = [(scope, found) for scope, found in before.items() if scope not in now]
    return dict([*kept, *now.items()][-MOST_SCOPES:])


def _go_on_without(reason: object) -> None:
    say_once(
        f"{reason}. Without a ledger rows are delivered at least once, and limits are learned anew after a restart"
    )


def say_once(sentence: str) -> None:
    """Warn, once in the life of this process."""
    if sentence not in _said:
        _said.add(sentence)
        logger.warning("%s", sentence)
