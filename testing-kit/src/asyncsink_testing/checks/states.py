"""What a writer leaves to its successor, and the bytes that it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from asyncsink.context import WriterInitContext
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import Sink
from asyncsink_testing.checks.kept_bytes import (
    Kept,
    check_round_trip,
    check_truncated,
    check_unknown_version,
    kept_of,
    rows_of_all_kinds,
)
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.conformance.watching import rows_left_on_purpose, until
from asyncsink_testing.faults import Fault

_KEEP = (Fault.THROTTLED, Fault.HANGING)
"""Faults under which nothing is ever stored."""
_GROUP = "lifecycle"
_END_S = 5.0
"""Within which the connections of a writer that was closed end."""
_GIVEN_UP = {"commits": "what is left of an attempt that was not committed is given up, and its rows are written again"}
_ASKED_THERE = {"commits": "the group `committing` asks this of the states that are left at a commit"}


@check("snapshot-restore", since="0.1", one_of=_KEEP, asks=["keeps_state"], not_with=_GIVEN_UP, group=_GROUP)
async def snapshot_restore(trial: Trial) -> None:
    """What a closed writer had not delivered its successor delivers, though only bytes are left of it.

    The destination stores some rows and then throttles for ever, and again with one that hangs. The states of two such
    writers go to bytes, the writers are closed, and a new sink's writer starts from the bytes of both, as one does that
    takes over from several. Where states keep no rows, it is handed those that were not stored. Nothing may be lost,
    and nothing doubled that was answered. Look at ``entry_serializer``, at ``writer_state_serializer``, and at what
    ``create_writer`` does with its states.
    """
    for fault in _KEEP:
        if fault in trial.destination.supported:
            async with trial.fresh() as fresh:
                await _restore(fresh, fault)


async def _restore(trial: Trial, fault: Fault) -> None:
    count = 5 * trial.batch + 1
    rows, states = trial.rows(2 * count), []
    for own in (rows[:count], rows[count:]):
        states += await _states(trial, own[: trial.batch], own[trial.batch :], fault)
    serializer = _serializer(trial, trial.sink())
    kept = [(serializer.version, serializer.serialize(state)) for state in states]
    successor = trial.sink()
    reader = _serializer(trial, successor)
    trial.destination.script([])
    restored = [reader.deserialize(version, data) for version, data in kept]
    async with successor.create_writer(WriterInitContext(attempt=1), restored) as writer:
        await trial.hand_over_again(writer, rows)
    (await trial.seen(rows, writer)).nothing_lost().nothing_doubled().intact()


async def _states(trial: Trial, stored: Sequence[Row], kept: Sequence[Row], fault: Fault) -> list[Any]:
    """The states of a writer whose destination has stored some rows, and takes no others; it is closed by then."""
    trial.destination.script([])
    with rows_left_on_purpose():
        async with trial.writer({"requestTimeout": "60s"}) as writer:
            await trial.write(writer, stored)
            await writer.flush(end_of_input=True)
            trial.destination.script([], then=fault)
            seen = len(trial.destination.requests or ())
            await trial.write(writer, kept)
            if len(kept) >= trial.batch:
                await trial.requests_arrived(seen + 1)
            states = writer.snapshot_state()
            await writer.aclose()
    # A request that was on its way when the writer was closed must still meet the fault, and not what comes after it.
    await until(lambda: not trial.destination.open_connections, _END_S)
    return states


def _serializer(trial: Trial, sink: Sink[Any, Any, Any, Any]) -> SimpleVersionedSerializer[Any]:
    serializer = sink.writer_state_serializer
    if serializer is None:
        trial.fail(
            "the capabilities say keeps_state, and the sink's writer_state_serializer is None; give the sink an "
            "entry_serializer, or deny keeps_state"
        )
    return serializer


# ---- bytes ---------------------------------------------------------------------------------------------------


async def _kept(trial: Trial) -> list[Kept]:
    """A writer's state, and entries of it where the sink has a serializer for them."""
    fault = next(each for each in _KEEP if each in trial.destination.supported)
    states = await _states(trial, trial.rows(1, first=100), rows_of_all_kinds(trial), fault)
    return [*_serialized(trial, states)]


def _serialized(trial: Trial, states: Sequence[Any]) -> Iterator[Kept]:
    sink = trial.sink()
    serializer, of_entries = _serializer(trial, sink), getattr(sink, "entry_serializer", None)
    for state in states:
        yield kept_of(trial, "a writer's state", state, serializer)
        if of_entries is None:
            continue
        for entry in getattr(state, "entries", ()):
            yield kept_of(trial, "an entry", entry, of_entries, whole=False)


@check("serializer-round-trip", since="0.1", one_of=_KEEP, asks=["keeps_state"], not_with=_ASKED_THERE, group=_GROUP)
async def serializer_round_trip(trial: Trial) -> None:
    """A state that went to bytes and back equals the one that it was, and so does each of its entries.

    It breaks where a serializer leaves out a field, such as the key by which rows are kept in order, or knows fewer
    characters than the converter. Entries are compared by ``==``: make them dataclasses or named tuples.
    """
    check_round_trip(trial, await _kept(trial))


@check(
    "serializer-unknown-version", since="0.1", one_of=_KEEP, asks=["keeps_state"], not_with=_ASKED_THERE, group=_GROUP
)
async def serializer_unknown_version(trial: Trial) -> None:
    """Bytes of a version that a serializer does not know are refused by a ValueError that names the version.

    It is asked to read bytes of the next version and of a much later one, as after a downgrade. A serializer that does
    not look at the version reads them as something else, and rows are lost or garbled without a word.
    """
    check_unknown_version(trial, await _kept(trial))


@check("serializer-truncated", since="0.1", one_of=_KEEP, asks=["keeps_state"], not_with=_ASKED_THERE, group=_GROUP)
async def serializer_truncated(trial: Trial) -> None:
    """Bytes that were cut short, or damaged where lengths stand, raise ValueError and nothing else.

    Every beginning of a state's bytes must be refused; each of its bytes is changed in turn, which may go unnoticed
    within a payload, and must not lose entries. An entry's own bytes lie within a state's, and need not tell that some
    are missing. It breaks where lengths are trusted: struct.error, IndexError, MemoryError, or a short result.
    """
    check_truncated(trial, await _kept(trial))
