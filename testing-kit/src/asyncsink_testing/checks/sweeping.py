"""What is given up is gone for good, and nothing else is; of the group ``committing``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from asyncsink.errors import LostCommittablesError
from asyncsink.transactions.transaction import Transaction
from asyncsink_testing.checks.visible import committed, done, none_visible, visible_once
from asyncsink_testing.conformance.check import ConformanceError, check
from asyncsink_testing.conformance.process import Kept, Process, new_transaction
from asyncsink_testing.conformance.trial import Row, Trial

_GROUP: Final = "committing"
_ZOMBIE = (
    "at {what}, which has to remove what was staged, and at commit, which has to raise LostCommittablesError for what "
    "is not there"
)
_SPARED = "at sweep, which may remove what bears the transaction's sink_id and its generation or one before it"
_NAMES = (
    "at the names of what writers stage: they are made of the transaction's sink_id and generation, of writer_id and "
    "of attempt"
)


@check("abort-final", since="0.1", asks=["commits"], group=_GROUP)
async def abort_final(trial: Trial) -> None:
    """What was aborted never becomes visible, and a committer that comes too late commits nothing of it.

    What a writer has prepared is aborted, twice, and committed then, as by a process that was believed to be dead.
    The commit raises ``LostCommittablesError`` or does nothing, and no row is visible. It breaks where ``abort`` is
    left out, and where a commit takes what is missing for what is committed and stages it anew.
    """
    process, rows = Process.started(trial), trial.rows(2 * trial.batch)
    kept = await process.prepared(new_transaction(), rows)
    for what in ("the abort", "a second abort"):
        await done(what, process.abort(kept))
    await _comes_to_nothing(trial, process, kept, rows, "abort")


@check("sweep-final", since="0.1", asks=["commits"], group=_GROUP)
async def sweep_final(trial: Trial) -> None:
    """What a dead attempt has left is swept by the next one, and never becomes visible.

    A writer prepares and its process is never heard of again; another process, which knows only the sink's id and the
    number of its own attempt, sweeps twice. Then the first one commits after all, which raises
    ``LostCommittablesError`` or does nothing, and no row is visible. It breaks where ``sweep`` is left out, and where
    it looks for names that writers do not use.
    """
    dead, rows, transaction = Process.started(trial), trial.rows(2 * trial.batch), new_transaction()
    kept = await dead.prepared(transaction, rows)
    process = Process.started(trial)
    for what in ("the sweep", "a second sweep"):
        await done(what, process.sweep(_after(transaction)))
    await _comes_to_nothing(trial, dead, kept, rows, "sweep")


def _after(transaction: Transaction) -> Transaction:
    """The attempt that follows one which was not finished."""
    return replace(transaction, generation=transaction.generation + 1, run=transaction.run + 1)


async def _comes_to_nothing(trial: Trial, process: Process, kept: Kept, rows: Sequence[Row], what: str) -> None:
    """See that a commit is in vain, and says so by the right error if it says anything."""
    error: Exception | None = None
    try:
        await process.commit(kept)
    except ConformanceError:
        raise
    except Exception as raised:
        error = raised
    look = _ZOMBIE.format(what=what)
    if error is not None:
        trial.fail(
            f"a commit after the {what} raised {type(error).__name__}: {error}. It has to raise "
            f"{LostCommittablesError.__name__}, by which a batch is written again: look {look}"
        )
    await none_visible(trial, rows, f"that were committed after the {what}", look)


@check("sweep-spares", since="0.1", asks=["commits"], group=_GROUP)
async def sweep_spares(trial: Trial) -> None:
    """A sweep leaves alone what is committed, what others or later attempts have staged, and what states need.

    A job commits, and keeps the state of its writer where it has one; another job has prepared in the same place, and
    so has a later attempt of this one, which took it for dead. The first one sweeps, as after each commit. Its own rows
    stay visible, those of the others become so by their commits, and a writer that starts from the state delivers what
    it had kept. It breaks where ``sweep`` goes by something else than ``sink_id`` and generation in names, and where it
    does not look at the states that it is given.
    """
    process, other = Process.started(trial), Process.started(trial)
    own, others = trial.rows(2 * trial.batch + 1), trial.rows(4 * trial.batch, first=1_000)
    transaction, flush = new_transaction(), trial.capabilities.keeps_state is not True
    following, half = _after(transaction), len(others) // 2
    staged = await other.prepared(new_transaction(), others[:half])
    later = await other.prepared(_after(following), others[half:])
    async with process.writer(transaction) as writer:
        kept, states = await process.prepare(writer, own, flush=flush), process.states(writer)
        await writer.aclose()
    await committed(trial, "the commit", process.commit(kept), _SPARED)
    await done("the sweep", process.sweep(transaction, states))
    await committed(trial, "the commit of another job", other.commit(staged), _SPARED)
    await committed(trial, "the commit of a later attempt", other.commit(later), _SPARED)
    async with process.writer(following, states=states) as successor:
        left = await process.prepare(successor, [])
    await committed(trial, "the commit of what was in the state", process.commit(left), _SPARED)
    await visible_once(trial, [*own, *others], "after a sweep", _SPARED)


@check("attempts-apart", since="0.1", asks=["commits"], group=_GROUP)
async def attempts_apart(trial: Trial) -> None:
    """Two attempts of one task write at the same time, and the one that is committed is visible once and whole.

    Two writers with the same id and transaction, and with two numbers of attempts, write the same rows in turn; both
    prepare. The second is committed, and what the first has left is swept. So it is with a task that Spark takes for
    dead and starts again. It breaks where names are made without ``InitContext.attempt``.
    """
    process, transaction, rows = Process.started(trial), new_transaction(), trial.rows(2 * trial.batch + 1)
    async with process.writer(transaction) as loser, process.writer(transaction, attempt=1) as winner:
        for row in rows:
            await trial.write(loser, [row])
            await trial.write(winner, [row])
        await done("the first of two attempts", process.prepare(loser, []))
        kept = await done("the second of two attempts", process.prepare(winner, []))
    await committed(trial, "the commit of the second attempt", process.commit(kept), _NAMES)
    await done("the sweep", process.sweep(transaction))
    await visible_once(trial, rows, "after two attempts, of which one was committed", _NAMES)
