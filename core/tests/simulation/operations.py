"""What a program does with its writer, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from random import Random

import anyio

from asyncsink import ListBlock, RejectedEntryError, WouldBlock, WriteContext
from asyncsink_testing import FakeEntry, RecordedWriter

from .batches import Batch
from .scenario import Scenario


class Names:
    """Gives each entry of a seed a name of its own."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last


class Operations:
    """The calls of one task on one writer; what they draw comes from a generator of their own."""

    def __init__(self, writer: RecordedWriter, scenario: Scenario, random: Random, names: Names) -> None:
        self._writer, self._scenario, self._random, self._names = writer, scenario, random, names
        self._calls: dict[str, Callable[[], Awaitable[None]]] = {
            "write": lambda: writer.write(self._entry(), self._context()),
            "write_many": lambda: writer.write_many(self._entries(), self._context()),
            "write_block": self._write_block,
            "write_nowait": self._write_nowait,
            "write_batch": lambda: writer.write_batch(Batch(self._entries())),
            "flush": lambda: writer.flush(random.random() < 0.3),
            "sleep": lambda: anyio.sleep(random.choice([0.0, 0.01, 0.2, 1.0, 7.0])),
        }

    async def run(self, count: int) -> None:
        """So many of the scenario's operations; some are cancelled, and elements that can never be sent are let go."""
        for _ in range(count):
            operation = self._calls[self._random.choice(self._scenario.operations)]
            cut = self._random.random() < 0.15
            with anyio.move_on_after(self._random.choice([0.0, 0.005, 0.3]) if cut else inf):
                with suppress(RejectedEntryError):
                    await operation()

    def _context(self) -> WriteContext | None:
        return WriteContext(sequence=7) if self._random.random() < 0.1 else None

    async def _write_block(self) -> None:
        # What cannot be converted never comes to stand in a block.
        entries = [entry._replace(flaw="") if entry.flaw == "broken" else entry for entry in self._entries()]
        await self._writer.write_block(ListBlock(entries, [entry.size for entry in entries]))

    async def _write_nowait(self) -> None:
        try:
            self._writer.write_nowait(self._entry())
        except WouldBlock:
            await self._writer.wait_available()

    def _entry(self) -> FakeEntry:
        random, scenario = self._random, self._scenario
        size = 1 + int(random.random() * scenario.config["max_record_size_in_bytes"])
        key, flaw = None, ""
        if scenario.keys and random.random() >= scenario.loose:
            key = random.randrange(scenario.keys)
        if scenario.poison and random.random() < scenario.poison:
            flaw = "poison"
        if scenario.unsendable and random.random() < scenario.unsendable:
            size, flaw = random.choice([(size + scenario.config["max_record_size_in_bytes"], ""), (size, "broken")])
        return FakeEntry(self._names.next(), size, random.choice(scenario.routes), key, flaw)

    def _entries(self) -> list[FakeEntry]:
        most = self._scenario.config["max_batch_size"]
        count = self._random.choice([0, 1, 3, most, 2 * most + 1, 5 * most])
        return [self._entry() for _ in range(count)]
