"""Two phases: what writers have prepared becomes visible by the commit, all of it and once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import anyio

from asyncsink.errors import CommitError
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.transactions.committing import Commit, check_given
from asyncsink_testing.checks.visible import committed, done, none_visible, visible_once
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.process import Kept, Process, new_transaction
from asyncsink_testing.conformance.trial import Row, Trial

_TIMES: Final = 2
"""How often a commit is put off, where the destination can do so."""
_TRIES: Final = 20
"""Far more commits than a destination puts off."""
_BACKOFF_S: Final = 0.05

_EARLY = "at where writers put what they stage: whoever reads the destination must not find it there"
_IDEMPOTENT = (
    "at Committer.commit, for which what was committed before must count as committed: after a crash nobody knows how "
    "far it came"
)
_BYTES = (
    "at committables that name something which lives in the writer's process, such as a client or a number of a "
    "session: they have to hold all that a commit needs"
)


@check("visible-by-commit", since="0.1", asks=["commits"])
async def visible_by_commit(trial: Trial) -> None:
    """Nothing is visible before the commit, and by it everything becomes so.

    Rows are written and flushed, the commit is prepared, and the writer is closed; the destination is looked at after
    each step, and once more when the committers have been asked. It breaks where what is staged lies where readers
    look, and where leaving the writer stores what belongs to a commit.
    """
    process, rows = Process.started(trial), trial.rows(2 * trial.batch + 1)
    async with process.writer(new_transaction()) as writer:
        await trial.write(writer, rows)
        await none_visible(trial, rows, "before anything was flushed", _EARLY)
        await writer.flush(end_of_input=True)
        await none_visible(trial, rows, "after a flush, before the commit was prepared", _EARLY)
        kept = process.as_bytes(await writer.prepare_commit(True))
        await none_visible(trial, rows, "though they are only prepared", _EARLY)
    await none_visible(trial, rows, "when their writer is closed, though they are only prepared", _EARLY)
    await committed(trial, "the commit", process.commit(kept), _BYTES)
    await visible_once(trial, rows, "after the commit", "at what prepare_commit(True) leaves out of its committables")


@check("commit-twice", since="0.1", asks=["commits"])
async def commit_twice(trial: Trial) -> None:
    """Committables that are committed again, by the same committer or in another process, are visible once.

    What was prepared is committed twice by one committer, and then by that of a new sink, which has only bytes. The
    second and the third commit may neither fail nor double a row, nor count anything as lost. A process that dies
    after the commit, and before it could write that down, leaves its successor to commit again.
    """
    process, rows = Process.started(trial), trial.rows(2 * trial.batch + 1)
    async with process.committer() as committer:
        kept = await process.prepared(new_transaction(), rows)
        for what in ("the commit", "a second commit by the same committer"):
            await committed(trial, what, process.commit_by(committer, kept), _IDEMPOTENT)
    await committed(trial, "a commit by another committer", process.commit(kept), _IDEMPOTENT)
    again = Process.started(trial).commit_singly(kept)
    await committed(trial, "a commit in another process, of what was committed,", again, _IDEMPOTENT)
    await visible_once(trial, rows, "after they were committed more than once", _IDEMPOTENT)


@check("commit-elsewhere", since="0.1", asks=["commits"])
async def commit_elsewhere(trial: Trial) -> None:
    """What a process has prepared another one commits, which has nothing of it but the bytes of its committables.

    Two writers prepare, and are closed; a new sink, made of the same options, commits what both have left. So it is
    with Spark, whose driver commits what its workers have prepared, and with a job that starts again. It breaks where
    a committable leads to something that only the process of the writer has.
    """
    rows = trial.rows(4 * trial.batch)
    kept = await _by_two_writers(Process.started(trial), rows)
    await committed(trial, "the commit in another process", Process.started(trial).commit(kept), _BYTES)
    await visible_once(trial, rows, "after a commit in another process", _BYTES)


async def _by_two_writers(process: Process, rows: Sequence[Row]) -> Kept:
    """The committables of two writers, each of which has written one half."""
    transaction, half = new_transaction(), len(rows) // 2
    first = await process.prepared(transaction, rows[:half])
    return first + await process.prepared(transaction, rows[half:], writer_id=1)


@check("commit-retried", since="0.1", asks=["commits"])
async def commit_retried(trial: Trial) -> None:
    """What a committer returns, to be committed again, is a list of what it was given; what it leaves out is committed.

    Nothing is committed first, and then what two writers have prepared; where the destination can put commits off, it
    does so twice. What is returned is committed again until nothing is left, and then every row is visible once. A
    committable that is neither returned nor committed is lost for good; what was not given, or is committed already,
    is committed again and again.
    """
    process, rows = Process.started(trial), trial.rows(4 * trial.batch)
    kept = await _by_two_writers(process, rows)
    if (postpone := getattr(trial.destination, "postpone", None)) is not None:
        postpone(_TIMES)
    if process.sink.create_committer() is not None:
        async with process.committer() as committer:
            await _all_committed(trial, committer.commit, [], process.serializer)
            await _all_committed(trial, committer.commit, process.of_bytes(kept), process.serializer)
    if process.sink.create_global_committer() is not None:
        async with process.global_committer() as publisher:
            combined = process.of_global_bytes([await process.combined(kept)])
            await _all_committed(trial, publisher.commit, [], process.global_serializer)
            await _all_committed(trial, publisher.commit, combined, process.global_serializer)
    look = "at what commit returns: all that it could not commit, and that is not lost"
    await visible_once(trial, rows, "though nothing was left to be committed", look)


async def _all_committed(
    trial: Trial, commit: Commit, values: Sequence[Any], serializer: SimpleVersionedSerializer[Any]
) -> None:
    """Commit, and again what is returned, until nothing is left."""
    left = values
    for _ in range(_TRIES):
        again = await done("the commit", commit(left))
        try:
            check_given(left, again, serializer)
        except CommitError as error:
            trial.fail(f"{error}. Look at what commit returns")
        left = again
        if not left:
            return
        await anyio.sleep(_BACKOFF_S)
    trial.fail(
        f"{len(left)} of {len(values)} committables were returned by {_TRIES} commits, one after the other: look for a "
        "commit that returns what it has committed"
    )
