"""What is committed for all writers together; of the group ``committing``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asyncsink.errors import CommitError
from asyncsink.ledger.state import KeptState
from asyncsink.transactions.committing import as_kept, check_given
from asyncsink_testing.checks.visible import committed, done, visible_once
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.process import Process, new_transaction
from asyncsink_testing.conformance.trial import Row, Trial

_GROUP: Final = "committing"
_IDEMPOTENT = "at GlobalCommitter.commit, for which what was committed before must count as committed"
_FILTER = (
    "at filter_recovered_committables, which has to look into the destination for what is committed, and to return all "
    "that is not"
)


@check("global-commit-twice", since="0.1", asks=["commits"], group=_GROUP)
async def global_commit_twice(trial: Trial) -> None:
    """A global committable that is committed again, by the same committer or in another process, is published once.

    What a writer has prepared is combined and committed twice by one committer, and then by that of a new sink, which
    has only bytes. It breaks where a commit adds a snapshot to a list without a look at whether it is there. Does not
    apply to a sink without a ``GlobalCommitter``.
    """
    process, rows = Process.started(trial), trial.rows(2 * trial.batch + 1)
    async with process.global_committer():
        kept = await _combined(trial, process, rows)
    for what in ("the commit", "a second commit"):
        await committed(trial, f"{what} by the global committer", process.publish([kept]), _IDEMPOTENT)
    again = Process.started(trial).publish([kept])
    await committed(trial, "a commit in another process, of what was committed,", again, _IDEMPOTENT)
    await visible_once(trial, rows, "after they were committed more than once", _IDEMPOTENT)


@check("global-recovered", since="0.1", asks=["commits"], group=_GROUP)
async def global_recovered(trial: Trial) -> None:
    """Of recovered global committables those are returned that are not committed, and nothing else.

    Two are combined, and one is committed; a new sink's committer is asked which of both are to be committed. It must
    return the other one, and that one has to be committable. It breaks where a filter returns all that it is given,
    where it keeps in memory what is committed, and where it makes new committables. Does not apply to a sink without a
    ``GlobalCommitter``.
    """
    process, half = Process.started(trial), 2 * trial.batch
    rows = trial.rows(2 * half)
    async with process.global_committer():
        first, second = [await _combined(trial, process, each) for each in (rows[:half], rows[half:])]
    await committed(trial, "the commit of the first", process.publish([first]), _IDEMPOTENT)
    recovered = await _recovered(trial, Process.started(trial), [first, second])
    if first in recovered:
        trial.fail(f"filter_recovered_committables returned what is committed already: look {_FILTER}")
    if second not in recovered:
        trial.fail(f"filter_recovered_committables left out what nobody has committed, and it is lost: look {_FILTER}")
    await committed(trial, "the commit of the second", Process.started(trial).publish(recovered), _FILTER)
    await visible_once(trial, rows, "after the second was recovered", _FILTER)


async def _combined(trial: Trial, process: Process, rows: Sequence[Row]) -> KeptState:
    """A global committable for these rows, whose own committables are committed as far as the sink wants that."""
    kept = await process.prepared(new_transaction(), rows)
    await committed(trial, "the commit of single writers", process.commit_singly(kept), "at Committer.commit")
    return await done("combine", process.combined(kept))


async def _recovered(trial: Trial, process: Process, kept: Sequence[KeptState]) -> Sequence[KeptState]:
    """What of these a committer wants to commit, as bytes."""
    given = process.of_global_bytes(kept)
    async with process.global_committer() as committer:
        name = "filter_recovered_committables"
        found = await done(name, committer.filter_recovered_committables(given))
        try:
            check_given(given, found, process.global_serializer)
        except CommitError as error:
            trial.fail(f"{name}: {error}")
    return as_kept(process.global_serializer, found)
