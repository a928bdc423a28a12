"""The bytes of committables, and of the states that are kept with them; of the group ``committing``."""

from __future__ import annotations

from typing import Final

from asyncsink_testing.checks.kept_bytes import (
    Kept,
    check_round_trip,
    check_truncated,
    check_unknown_version,
    kept_of,
    rows_of_all_kinds,
)
from asyncsink_testing.checks.visible import committed
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.process import Process, new_transaction
from asyncsink_testing.conformance.trial import Trial

_GROUP: Final = "committing"


@check("committable-round-trip", since="0.1", asks=["commits"], group=_GROUP)
async def committable_round_trip(trial: Trial) -> None:
    """A committable that went to bytes and back equals the one that it was, and so do global ones and states.

    What a writer prepares, what the global committer combines of it, if there is one, and the state that the writer
    keeps with the commit are compared by ``==``: make them dataclasses or named tuples. It breaks where a serializer
    leaves out a field.
    """
    check_round_trip(trial, await _kept(trial))


@check("committable-unknown-version", since="0.1", asks=["commits"], group=_GROUP)
async def committable_unknown_version(trial: Trial) -> None:
    """Bytes of a version that a serializer of committables does not know are refused by a ValueError that names it.

    It is asked to read bytes of the next version and of a much later one, as after a downgrade, those of global
    committables and of states as well. What is read as something else is committed as something else, or never.
    """
    check_unknown_version(trial, await _kept(trial))


@check("committable-truncated", since="0.1", asks=["commits"], group=_GROUP)
async def committable_truncated(trial: Trial) -> None:
    """Bytes of a committable that were cut short or damaged raise ValueError and nothing else.

    Every beginning of the bytes must be refused, and each byte is changed in turn, which may go unnoticed within a
    text. It holds for global committables and for states as well. It breaks where bytes are a bare text, of which each
    beginning is one too, and where lengths are trusted.
    """
    check_truncated(trial, await _kept(trial))


async def _kept(trial: Trial) -> list[Kept]:
    """Committables, global committables and states of writers that have written rows of all kinds."""
    process = Process.started(trial)
    async with process.writer(new_transaction()) as writer:
        await trial.write(writer, rows_of_all_kinds(trial))
        await writer.flush(end_of_input=True)
        committables = await writer.prepare_commit(True)
    if not committables:
        trial.fail("rows were written, and prepare_commit(True) returned no committable")
    found = [kept_of(trial, "a committable", each, process.serializer) for each in committables]
    if process.sink.create_global_committer() is not None:
        single = process.commit_singly(process.as_bytes(committables))
        await committed(trial, "the commit of single writers", single, "at Committer.commit")
        async with process.global_committer() as publisher:
            combined = await publisher.combine(committables)
        found.append(kept_of(trial, "a global committable", combined, process.global_serializer))
    return [*found, *await _kept_states(trial, process)]


async def _kept_states(trial: Trial, process: Process) -> list[Kept]:
    """The states that a writer leaves with a commit which does not take all that was written."""
    serializer = process.sink.writer_state_serializer
    if serializer is None:
        return []
    async with process.writer(new_transaction()) as writer:
        await process.prepare(writer, rows_of_all_kinds(trial), flush=False)
        states = writer.snapshot_state(1)
        await writer.aclose()
    return [kept_of(trial, "a writer's state", each, serializer) for each in states]
