"""Two-phase commits under Spark: begun where a batch is planned, prepared in its tasks, committed on the driver."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

import anyio

from asyncsink.errors import LedgerError, LedgerUnavailableError
from asyncsink.ledger import BatchProgress, KeptState, Ledger, LedgerState
from asyncsink.ledger.local import LocalStore
from asyncsink.ledger.store import Store
from asyncsink.spark.commit import TaskCommit
from asyncsink.spark.planning import Plan
from asyncsink.spark.recovery import Recovered, check_repeated, proof, store_of, succeeding
from asyncsink.transactions.coordinator import Coordinator
from asyncsink.transactions.log import Decision, Outcome, TransactionLog
from asyncsink.transactions.noting import PROGRESS, note
from asyncsink.transactions.transaction import Transaction

logger = logging.getLogger(__name__)

KEPT_JOBS: Final = 100
"""Names of batch jobs that a log remembers."""

_JOBS: Final = "jobs"
_swept: set[str] = set()
_last: dict[str, Decision] = {}


def begin(plan: Plan) -> Recovered:
    """Finish what predecessors have left, and begin an attempt at the batch that is being planned.

    :raises LedgerUnavailableError: a stream has no place where this can be remembered
    :raises LedgerError: the ledger cannot be read or written, or another query uses it
    :raises CommitError: what was prepared before cannot be committed
    """
    store = _store(plan)
    log = TransactionLog(store)
    # A log of the job's own is new, though all of them are shown by one name.
    is_swept = _is_kept(plan) and store.location in _swept
    begun = anyio.run(partial(_coordinator(plan, log).begin, sweep=not is_swept))
    _swept.add(store.location)
    committed = begun.committed
    if committed is None:
        query_id = proof(plan.door) if plan.streaming else None
        return Recovered(store.location, LedgerState(query_id=query_id), is_new=True, transaction=begun.transaction)
    if begun.recovered:
        note(Ledger(store), committed)
    jobs = tuple(committed.note.get(_JOBS, ()))
    if plan.in_order:
        _check_order(plan, jobs, store.location)
    return Recovered(store.location, committed.after, transaction=begun.transaction, jobs=jobs)


def commit(plan: Plan, progress: BatchProgress, tasks: Sequence[TaskCommit]) -> None:
    """Commit what the tasks have prepared.

    :raises LedgerError: it was decided otherwise before, or the ledger cannot be read or written
    :raises CommitError: it is decided, and cannot be carried out now
    """
    if not tasks:
        return
    transaction, store = _transaction(tasks), _store(plan)
    log, ledger = TransactionLog(store), Ledger(store)
    if progress.skipped:
        if plan.streaming:
            check_repeated(ledger, plan.door, progress)
        elif plan.in_order:
            _check_same(plan, _before(log, tasks), progress, store.location)
        decision = Decision(outcome=Outcome.SKIPPED, transaction=transaction, batch_id=progress.batch_id, job=plan.job)
        anyio.run(_coordinator(plan, log).commit, decision)
        return
    decision = _decision(plan, progress, tasks, _before(log, tasks))
    anyio.run(partial(_coordinator(plan, log).commit, decision, end_of_input=not plan.streaming))
    if _is_kept(plan):
        _last[log.location] = decision
        note(ledger, decision)
    else:
        _forget(plan)


def abort(plan: Plan, recovered: Recovered | None, tasks: Sequence[TaskCommit]) -> None:
    """Give up what the tasks have prepared, unless it is decided already. Where nobody can tell, the next planner does.

    :raises LedgerError: the ledger cannot be read or written
    """
    if not _is_kept(plan) and not _own_folder(plan).exists():
        # It was committed, and the process that has done so died before it could say so.
        return
    transaction = _transaction(tasks) if tasks else recovered.transaction if recovered is not None else None
    if transaction is not None:
        anyio.run(_coordinator(plan, TransactionLog(_store(plan))).abort, transaction, _committables(tasks))
    if not _is_kept(plan):
        _forget(plan)


def _check_order(plan: Plan, jobs: Sequence[str], location: str) -> None:
    """Refuse a micro-batch before the last one of its query: by its name alone it would be skipped, or written again.

    :raises LedgerError: a later one was committed
    """
    query, number = _numbered(str(plan.job))
    last = max((of for name, of in map(_numbered, jobs) if name == query), default=number)
    if number < last:
        raise LedgerError(
            f"Spark asks for micro-batch {number} of {query}, but the ledger {location} says that micro-batch {last} "
            "was committed: the checkpoint was rewound, or made anew under an old name. Were it skipped, rows could be "
            "lost; to write them again, give foreach_batch another name = ..."
        )


def _numbered(job: str) -> tuple[str, int]:
    """The query and the number of a micro-batch, of a job's name as `foreach_batch` makes it; -1 of another name."""
    query, _, number = job.rpartition("/")
    number = number.partition(".")[0]
    return query, int(number) if number.isdecimal() else -1


def _check_same(plan: Plan, before: Decision | None, repeated: BatchProgress, location: str) -> None:
    """See that a micro-batch which was skipped is the one that was committed by its name, if that was the last job.

    :raises LedgerError: it is another one
    """
    if before is None or before.job != plan.job:
        return
    committed = before.note[PROGRESS]["rows_in"]
    if committed != repeated.rows_in:
        raise LedgerError(
            f"Spark has handed over {repeated.rows_in} rows as micro-batch {plan.job}, but the ledger {location} says "
            f"that it was committed with {committed}: another micro-batch by the same number: the checkpoint was "
            "rewound, or the query changed. Were it skipped, rows could be lost; to write them, give foreach_batch "
            "another name = ..."
        )


def _decision(plan: Plan, progress: BatchProgress, tasks: Sequence[TaskCommit], before: Decision | None) -> Decision:
    state = LedgerState() if before is None else before.after
    if not plan.streaming:
        progress = replace(progress, batch_id=0 if state.batch_id is None else state.batch_id + 1)
    jobs = [] if before is None else list(before.note.get(_JOBS, ()))
    transaction = _transaction(tasks)
    after = succeeding(state, progress, tasks)
    progress = replace(progress, writer_states=sum(map(len, after.writer_states.values())))
    noted: Mapping[str, Any] = {
        PROGRESS: asdict(progress),
        _JOBS: [*jobs, *([] if plan.job is None else [plan.job])][-KEPT_JOBS:],
    }
    return Decision(
        outcome=Outcome.PREPARED,
        transaction=transaction,
        batch_id=progress.batch_id if plan.streaming else None,
        job=plan.job,
        committables=_committables(tasks),
        after=after,
        note=noted,
    )


def _committables(tasks: Sequence[TaskCommit]) -> tuple[KeptState, ...]:
    """In the order of the partitions."""
    return tuple(each for task in sorted(tasks, key=lambda task: task.partition) for each in task.committables)


def _transaction(tasks: Sequence[TaskCommit]) -> Transaction:
    found = {task.transaction for task in tasks}
    transaction = found.pop()
    if found or transaction is None:
        raise LedgerError(
            f"the tasks of one batch have prepared for {len(found) + 1} attempts, so that it cannot be committed; this "
            "is a bug of asyncsink, please report it"
        )
    return transaction


def _before(log: TransactionLog, tasks: Sequence[TaskCommit]) -> Decision | None:
    """What was committed last; remembered by a process that commits one batch after the other."""
    known, transaction = _last.get(log.location), _transaction(tasks)
    # Not by the place alone: a log that was removed there, and begun anew, counts from the same numbers.
    if (
        known is not None
        and known.transaction.sink_id == transaction.sink_id
        and known.after.batch_id == tasks[0].follows
        and known.after.query_id == tasks[0].query_id
    ):
        return known
    done = log.generations().done
    return log.decision(done) if done else None


def _coordinator(plan: Plan, log: TransactionLog) -> Coordinator:
    return Coordinator(
        plan.connector, plan.sink, log, commit_timeout_s=plan.door.commit_timeout_s, is_kept=_is_kept(plan)
    )


def _store(plan: Plan) -> Store:
    try:
        store = store_of(plan.connector, plan.door, plan.streaming)
    except LedgerUnavailableError as error:
        raise LedgerUnavailableError(f"{error}. {plan.connector!r} delivers exactly once, and needs it") from error
    if store is not None:
        return store
    folder = _own_folder(plan)
    folder.mkdir(mode=0o700, exist_ok=True)
    return LocalStore(folder, "the driver's temporary folder")


def _is_kept(plan: Plan) -> bool:
    """Whether what is decided outlives the job."""
    return plan.streaming or plan.door.state_location is not None


def _own_folder(plan: Plan) -> Path:
    """Where a job without a stateLocation decides: planner, commit and abort are processes of their own, on the driver.

    Were it not for that, an abort that follows a commit which has failed would give up what is committed in part.
    """
    return Path(gettempdir(), f"asyncsink-{plan.run_id}")


def _forget(plan: Plan) -> None:
    """Remove the folder. At once it has another name: in one that is half removed an abort could decide anew."""
    with suppress(OSError):
        folder = _own_folder(plan)
        shutil.rmtree(folder.rename(folder.with_suffix(".gone")), ignore_errors=True)
