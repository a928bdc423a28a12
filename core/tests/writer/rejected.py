"""What the tests of rejected entries share: short names for what is refused, and stores that misbehave."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from asyncsink import AsyncSinkWriter, AsyncSinkWriterConfig, DeadLetterError, InitContext, WriterInitContext
from asyncsink.dead_letters import DeadLetter
from asyncsink_testing import FakeDestination, FakeEntry, Fault, PoisonedEntries, Script, Step

from .harness import small

CONTEXT = WriterInitContext(writer_id=3, attempt=1, query_id="q", batch_id=7)


def keeping(store: Any, **changes: Any) -> AsyncSinkWriterConfig:
    """The small configuration with dead letters, and no bound for their share."""
    return small(**({"on_rejected": "dead_letter", "dead_letters": store, "max_rejected": 1.0} | changes))


def dropping(**changes: Any) -> AsyncSinkWriterConfig:
    """The small configuration that drops what is rejected, and has no bound for its share."""
    return small(**({"on_rejected": "drop", "max_rejected": 1.0} | changes))


def poisoned(
    *, by_index: bool = False, steps: Sequence[Step | Fault] = (), then: Step | Fault = Fault.OK
) -> FakeDestination:
    """A destination that refuses entries with the flaw ``"poison"``."""
    return FakeDestination(PoisonedEntries(Script(steps, then), by_index))


def poison(name: Any, size: int = 1) -> FakeEntry:
    return FakeEntry(name, size, flaw="poison")


def broken(name: Any) -> FakeEntry:
    return FakeEntry(name, flaw="broken")


def large(name: Any) -> FakeEntry:
    return FakeEntry(name, 101)


def names_in(letters: Sequence[DeadLetter]) -> list[Any]:
    """The names of the entries and elements in letters of a sink that has no serializer."""
    return [json.loads(each.element or "")["name"] for each in letters]


def sequences(letters: Sequence[DeadLetter]) -> list[int]:
    """The last part of each letter's idempotency id."""
    return [int((each.idempotency_id or "").rpartition("/")[2]) for each in letters]


def held(writer: AsyncSinkWriter[Any, Any]) -> list[Any]:
    """The names of the entries in the writer's snapshot."""
    return [entry.name for entry in writer.snapshot_state()[0].entries]


def hold_that_it_adds_up(writer: AsyncSinkWriter[Any, Any]) -> None:
    """What is true of a writer at every step."""
    told, state = writer.statistics(), writer.snapshot_state()[0]
    settled = told.acknowledged + told.dead_lettered + told.dropped
    assert told.accepted + told.restored == settled + told.unacknowledged
    assert told.buffered_entries + told.in_flight_entries == told.unacknowledged == len(state.entries)
    assert told.dead_lettered + told.dropped <= told.rejected <= told.dead_lettered + told.dropped + len(state.entries)
    assert told.size_in_bytes == state.size_in_bytes


@dataclass(eq=False)
class SlowStore:
    """Takes letters, but says so only when it is released.

    :ivar released: set by a test
    """

    released: anyio.Event = field(default_factory=anyio.Event)
    letters: list[DeadLetter] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, context: InitContext) -> AsyncIterator[SlowStore]:
        yield self

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        await self.released.wait()
        self.letters.extend(letters)


class ClosedStore:
    """Cannot be opened."""

    @asynccontextmanager
    async def open(self, context: InitContext) -> AsyncIterator[Any]:
        raise DeadLetterError("dead letters cannot be written to /nowhere; name another folder")
        yield
