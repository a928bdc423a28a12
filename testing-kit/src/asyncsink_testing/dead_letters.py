"""A store of dead letters that tells a history what has become durable."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from asyncsink import AsyncSinkWriterConfig, InitContext
from asyncsink.dead_letters import DeadLetter, DeadLetterStore, DeadLetterWriter
from asyncsink_testing.fake_sink import FakeEntry
from asyncsink_testing.history import DeadLettered, History


@dataclass(frozen=True, eq=False)
class RecordedDeadLetters:
    """Passes letters of :class:`FakeEntry` on to another store, and records which of them it has stored.

    :param writer: the number of the writer whose letters they are
    """

    inner: DeadLetterStore
    history: History
    writer: Callable[[], int]

    @classmethod
    def of(cls, config: AsyncSinkWriterConfig, history: History, writer: Callable[[], int]) -> AsyncSinkWriterConfig:
        """`config` with a store that records, if it has one at all."""
        if config.dead_letters is None:
            return config
        return replace(config, dead_letters=cls(config.dead_letters, history, writer))

    @asynccontextmanager
    async def open(self, context: InitContext) -> AsyncIterator[DeadLetterWriter]:
        async with self.inner.open(context) as writer:
            yield _Recorded(writer, self)


@dataclass(frozen=True, slots=True)
class _Recorded:
    inner: DeadLetterWriter
    store: RecordedDeadLetters

    async def write(self, letters: Sequence[DeadLetter]) -> None:
        await self.inner.write(letters)
        history = self.store.history
        history.add(DeadLettered(history.clock(), self.store.writer(), tuple(map(_entry_of, letters))))


def _entry_of(letter: DeadLetter) -> Any:
    assert letter.element is not None  # the sink has no serializer, so entries are kept as elements are
    fields = json.loads(letter.element)
    # The row of a batch is kept as a batch of one.
    return FakeEntry(**(fields[0] if isinstance(fields, list) else fields))
