"""A random program: writers that are written to, watched, killed and restored, until the last one is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import anyio

from asyncsink import (
    BufferedRequestState,
    DeliveryError,
    ListBlock,
    WouldBlock,
    WriterClosedError,
    WriterFailedError,
    WriterInitContext,
)
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, RecordedWriter
from asyncsink_testing.history import Accepted

from .clients import SeededClients
from .scenario import FINAL, Ending, LateAnswers, Scenario


class KilledError(Exception):
    """Leaves the body of a writer in the middle."""


class Program:
    """Runs a scenario. Everything random comes from one generator, so that a seed can be repeated."""

    def __init__(self, seed: int, scenario: Scenario, random: Random) -> None:
        self.scenario, self.random, self.seed = scenario, random, seed
        timeout_s = scenario.config.request_timeout_s
        self._late = LateAnswers(scenario.faults, self._seeded(), timeout_s, scenario.late)
        self.destination = FakeDestination(self._late)
        self.sink = FakeSink(self.destination, config=scenario.config, scope_of=scenario.scope_of)
        self._names = 0
        self._lives = 0
        self._again: list[FakeEntry] = []
        self._earlier: tuple[list[BufferedRequestState[Any]], int] | None = None

    async def run(self) -> None:
        """All lives, one after the other."""
        states: list[BufferedRequestState[Any]] = []
        for ending in self.scenario.endings:
            states = await self._live(ending, states)
        while states[0].entries or self._again:
            # A writer failed for good. What it left is delivered by one that meets no such answer.
            faults = self.scenario.faults
            faults.faults = [each for each in faults.faults if each not in FINAL]
            faults.outages = () if self._lives > 5 else faults.outages
            faults.rate = 0.0 if self._lives > 5 else faults.rate
            states = await self._live("leave", states, operations=3)

    async def _live(
        self, ending: Ending, states: list[BufferedRequestState[Any]], operations: int | None = None
    ) -> list[BufferedRequestState[Any]]:
        self._lives += 1
        self._earlier = None
        self._late.on = ending == "leave" and self.scenario.patient
        operations = self.scenario.operations if operations is None else operations
        clients = SeededClients(self._seeded())
        async with anyio.create_task_group() as beside:
            if self.scenario.beside:
                beside.start_soon(self._beside, clients, operations)
            writer = RecordedWriter(
                self.sink, context=self._context(0, clients), states=states, limited=self.scenario.limited
            )
            left = await self._run(writer, ending, operations)
        return self._what_is_left(writer, left)

    def _context(self, number: int, clients: SeededClients) -> WriterInitContext:
        return WriterInitContext(
            writer_id=number, query_id=f"seed-{self.seed}", batch_id=1, attempt=self._lives, clients=clients
        )

    async def _beside(self, clients: SeededClients, operations: int) -> None:
        """A second writer that shares the first one's limiters, and is left in peace whatever becomes of that."""
        async with RecordedWriter(
            self.sink, context=self._context(1, clients), limited=self.scenario.limited
        ) as writer:
            for _ in range(operations):
                await self.random.choice(self._operations(writer))()

    async def _run(self, writer: RecordedWriter, ending: Ending, operations: int) -> bool:
        """One life of the writer that is watched and may be killed; whether it was left normally."""
        left = False
        with anyio.CancelScope() as whole:
            try:
                async with writer, anyio.create_task_group() as group:
                    group.start_soon(self._watch, writer)
                    if ending in ("kill", "close"):
                        group.start_soon(self._end, writer, ending, whole)
                    await self._work(writer, ending, operations)
                    group.cancel_scope.cancel()
                left = ending == "leave"
            except BaseExceptionGroup as errors:
                if errors.split((KilledError, DeliveryError, WriterFailedError, WriterClosedError))[1] is not None:
                    raise
            except (DeliveryError, WriterFailedError):
                pass
        return left

    def _seeded(self) -> Random:
        return Random(self.random.random())

    def _what_is_left(self, writer: RecordedWriter, left: bool) -> list[BufferedRequestState[Any]]:
        """The state for the next life: that of the end, or an earlier one with what came since to be repeated."""
        states, accepted = writer.snapshot(), self._accepted(writer)
        pending = [entry for entry in self._again if entry not in set(accepted)]
        if (not left or states[0].entries) and self._earlier is not None and self.random.random() < 0.5:
            states, count = self._earlier
            pending = accepted[count:] + pending
        held = set(states[0].entries)
        self._again = [entry for entry in dict.fromkeys(pending) if entry not in held]
        return states

    def _accepted(self, writer: RecordedWriter) -> list[Any]:
        calls = [call for call in self.destination.history.of(Accepted) if call.writer == writer.number]
        return [entry for call in calls for entry in call.entries]

    # ---- the three tasks of a life ---------------------------------------------------------------------------

    async def _work(self, writer: RecordedWriter, ending: Ending, operations: int) -> None:
        for start in range(0, len(self._again), 20):
            await writer.write_many(self._again[start : start + 20])
        for _ in range(operations):
            operation = self.random.choice(self._operations(writer))
            if self.random.random() < 0.15:
                with anyio.move_on_after(self.random.choice([0.0, 0.005, 0.3])):
                    await operation()
            else:
                await operation()
        if ending in ("kill", "close"):
            await anyio.sleep_forever()
        if ending == "raise":
            raise KilledError

    def _operations(self, writer: RecordedWriter) -> list[Callable[[], Awaitable[None]]]:
        async def nowait() -> None:
            try:
                writer.write_nowait(self._entry())
            except WouldBlock:
                await writer.wait_available()

        return [
            lambda: writer.write(self._entry()),
            lambda: writer.write(self._entry()),
            lambda: writer.write_many(self._entries()),
            lambda: writer.write_block(self._block()),
            nowait,
            lambda: writer.flush(self.random.random() < 0.3),
            lambda: anyio.sleep(self.random.choice([0.0, 0.01, 0.2, 1.0, 7.0])),
        ]

    def _entry(self) -> FakeEntry:
        self._names += 1
        most = self.scenario.config.max_record_size_in_bytes
        return FakeEntry(self._names, self.random.randint(1, most), self.random.choice(self.scenario.routes))

    def _entries(self) -> list[FakeEntry]:
        return [self._entry() for _ in range(self.random.choice([0, 1, 3, 10, 40]))]

    def _block(self) -> ListBlock[FakeEntry]:
        entries = self._entries()
        return ListBlock(entries, [entry.size for entry in entries])

    async def _watch(self, writer: RecordedWriter) -> None:
        """Look at the writer from beside, at any time."""
        try:
            while True:
                await anyio.sleep(self.random.choice([0.0, 0.003, 0.1, 0.5, 2.0]))
                match self.random.randrange(5):
                    case 0:
                        await writer.flush()
                    case 1:
                        self._earlier = writer.snapshot(), len(self._accepted(writer))
                    case _ if self.scenario.legible:
                        await writer.quiet()
                        writer.snapshot()
        except WriterClosedError:
            return

    async def _end(self, writer: RecordedWriter, ending: Ending, whole: anyio.CancelScope) -> None:
        await anyio.sleep(self.random.choice([0.0, 0.02, 0.3, 3.0]) + self.random.random())
        if ending == "kill":
            writer.closing()
            whole.cancel()
        else:
            await writer.aclose()
            raise KilledError
