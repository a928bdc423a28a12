"""What a writer leaves to its successor, and the bytes that it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from asyncsink.context import WriterInitContext
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import Sink
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.trial import Row, Trial
from asyncsink_testing.conformance.watching import rows_left_on_purpose, until
from asyncsink_testing.faults import Fault

_KEEP = (Fault.THROTTLED, Fault.HANGING)
"""Faults under which nothing is ever stored."""
_GROUP = "lifecycle"
_END_S = 5.0
"""Within which the connections of a writer that was closed end."""


@check("snapshot-restore", since="0.1", one_of=_KEEP, asks=["keeps_state"], group=_GROUP)
async def snapshot_restore(trial: Trial) -> None:
    """What a closed writer had not delivered its successor delivers, though only bytes are left of it.

    The destination stores some rows and then throttles for ever, and again with one that hangs. The states of two such
    writers go to bytes, the writers are closed, and a new sink's writer starts from the bytes of both, as one does that
    takes over from several. Nothing may be lost, and nothing doubled that was answered. Look at ``entry_serializer``,
    at ``writer_state_serializer``, and at what ``create_writer`` does with its states.
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
        pass
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


@dataclass(frozen=True, slots=True)
class _Kept:
    """A value with its bytes and what made them.

    :param whole: whether the bytes must tell that some are missing; those of an entry lie within a state's
    """

    name: str
    value: Any
    data: bytes
    serializer: SimpleVersionedSerializer[Any]
    whole: bool

    def __str__(self) -> str:
        return f"{self.name} by {type(self.serializer).__name__}"


async def _kept(trial: Trial) -> list[_Kept]:
    """A writer's state, and entries of it where the sink has a serializer for them."""
    texts = ("", "plain", "ümläut ✓ 漢字 🦜 \x00 \n")
    rows = [trial.rows(1, first=number, text=text)[0] for number, text in enumerate(texts)]
    rows[-1]["key"] = "schlüssel-鍵"
    fault = next(each for each in _KEEP if each in trial.destination.supported)
    states = await _states(trial, trial.rows(1, first=100), rows, fault)
    return [*_serialized(trial, states)]


def _serialized(trial: Trial, states: Sequence[Any]) -> Iterator[_Kept]:
    sink = trial.sink()
    serializer, of_entries = _serializer(trial, sink), getattr(sink, "entry_serializer", None)
    for state in states:
        yield _Kept("a writer's state", state, _bytes(trial, serializer, state), serializer, whole=True)
        if of_entries is None:
            continue
        for entry in getattr(state, "entries", ()):
            yield _Kept("an entry", entry, _bytes(trial, of_entries, entry), of_entries, whole=False)


def _bytes(trial: Trial, serializer: SimpleVersionedSerializer[Any], value: Any) -> bytes:
    data: object = serializer.serialize(value)
    if not isinstance(data, bytes):
        trial.fail(f"{type(serializer).__name__}.serialize gave a {type(data).__name__}; it has to give bytes")
    return data


@check("serializer-round-trip", since="0.1", one_of=_KEEP, asks=["keeps_state"], group=_GROUP)
async def serializer_round_trip(trial: Trial) -> None:
    """A state that went to bytes and back equals the one that it was, and so does each of its entries.

    It breaks where a serializer leaves out a field, such as the key by which rows are kept in order, or knows fewer
    characters than the converter. Entries are compared by ``==``: make them dataclasses or named tuples.
    """
    for each in await _kept(trial):
        again = each.serializer.deserialize(each.serializer.version, each.data)
        if again != each.value:
            trial.fail(
                f"{each} came back changed: look for a field that serialize leaves out or deserialize does not read, "
                "and see that values with the same fields are equal"
            )


@check("serializer-unknown-version", since="0.1", one_of=_KEEP, asks=["keeps_state"], group=_GROUP)
async def serializer_unknown_version(trial: Trial) -> None:
    """Bytes of a version that a serializer does not know are refused by a ValueError that names the version.

    It is asked to read bytes of the next version and of a much later one, as after a downgrade. A serializer that does
    not look at the version reads them as something else, and rows are lost or garbled without a word.
    """
    for each in await _kept(trial):
        for version in (each.serializer.version + 1, each.serializer.version + 1_000):
            refusal = _read(trial, each, version, each.data, f"in version {version}")
            if not isinstance(refusal, ValueError):
                trial.fail(f"{each} was read in version {version}, which is unknown; check the version in deserialize")
            if str(version) not in str(refusal):
                trial.fail(f"the error for {each} in version {version} must name the version; it says: {refusal}")


@check("serializer-truncated", since="0.1", one_of=_KEEP, asks=["keeps_state"], group=_GROUP)
async def serializer_truncated(trial: Trial) -> None:
    """Bytes that were cut short, or damaged where lengths stand, raise ValueError and nothing else.

    Every beginning of a state's bytes must be refused; each of its bytes is changed in turn, which may go unnoticed
    within a payload, and must not lose entries. An entry's own bytes lie within a state's, and need not tell that some
    are missing. It breaks where lengths are trusted: struct.error, IndexError, MemoryError, or a short result.
    """
    for each in await _kept(trial):
        version = each.serializer.version
        for end in range(len(each.data)):
            how = f"of which {end} of {len(each.data)} bytes are left"
            value = _read(trial, each, version, each.data[:end], how)
            if each.whole and not isinstance(value, ValueError):
                trial.fail(
                    f"{each} was read from {end} of its {len(each.data)} bytes without an error: what is missing is "
                    "lost without a word. Compare lengths with what is there, and the number of entries with those read"
                )
        _damage(trial, each)


def _damage(trial: Trial, kept: _Kept) -> None:
    """Change each byte in turn: a length among them may not lose entries."""
    version, data = kept.serializer.version, kept.data
    count = _count(_read(trial, kept, version, data, "as it was written"))
    for at in range(len(data)):
        for changed in {data[at] ^ 0x80, data[at] ^ 0x01, 0xFF} - {data[at]}:
            how = f"whose byte {at} is changed"
            value = _read(trial, kept, version, data[:at] + bytes([changed]) + data[at + 1 :], how)
            if not isinstance(value, ValueError) and _count(value) < count:
                trial.fail(
                    f"{kept}, {how}, was read as {_count(value)} of {count} entries without an error. Compare lengths "
                    "with what is there, and the number of entries with those read"
                )


def _count(state: Any) -> int:
    return len(getattr(state, "entries", ()))


def _read(trial: Trial, kept: _Kept, version: int, data: bytes, how: str) -> Any:
    """What some bytes are read as, or the ValueError by which they are refused."""
    try:
        return kept.serializer.deserialize(version, data)
    except ValueError as error:
        return error
    except Exception as error:
        trial.fail(
            f"{kept}, {how}, raised {type(error).__name__}: {error}. Damaged bytes must raise ValueError, so that "
            "whoever restores can tell them from a bug"
        )
