"""A random program: writers that are written to, watched, killed and restored, until the last one is left."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random
from threading import Thread
from typing import Any

import anyio

from asyncsink import (
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    BufferedRequestState,
    DeliveryError,
    OversizedEntryError,
    WriterClosedError,
    WriterFailedError,
    WriterInitContext,
)
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.metrics import UNREGISTERED, Metrics
from asyncsink_testing import FakeDestination, FakeEntry, RecordedWriter
from asyncsink_testing.clients import FreshClients
from asyncsink_testing.history import Quiet

from .batches import SINKS
from .clients import Jitter, SeededLimiters
from .operations import Names, Operations
from .scenario import Ending, Moods, Scenario


class KilledError(Exception):
    """Leaves the body of a writer in the middle."""


class Program:
    """Runs a scenario. Each purpose draws from a generator of its own, named after it, so that a seed can be repeated
    and one purpose may draw more without changing what another draws.
    """

    def __init__(self, seed: int, scenario: Scenario) -> None:
        self.scenario, self.seed = scenario, seed
        self.moods = Moods.of(scenario, str(seed))
        self.destination = FakeDestination(self.moods)
        self.config = scenario.writer_config()
        make_sink = SINKS[scenario.atomic, scenario.routed]
        self.sink = make_sink(self.destination, config=self.config, scope_of=scenario.scope_of)
        self.sink.batches, self.sink.odd, self.sink.random = scenario.batches, scenario.odd, self._stream("odd")
        self._random = self._stream("program")
        self._looking = self._stream("looks")
        self._watched: list[RecordedWriter] = []
        self._names = Names()
        self._lives = 0
        self._again: list[FakeEntry] = []
        self._earlier: tuple[list[BufferedRequestState[Any]], int] | None = None

    def _stream(self, purpose: str) -> Random:
        return Random(f"{self.seed} {purpose}")

    def look(self) -> bool:
        """Look at the writers at an instant at which no task can run; whether any of them was looked at."""
        looked = False
        for writer in self._watched:
            if self._looking.random() < self.scenario.looks:
                looked = True
                if self.scenario.is_safe:
                    history = self.destination.history
                    history.add(Quiet(history.clock(), writer.number))
                writer.snapshot()
        return looked

    async def run(self) -> None:
        """All lives, one after the other."""
        states: list[BufferedRequestState[Any]] = []
        for ending in self.scenario.endings:
            states = await self._live(ending, states, self.scenario.steps)
        while states[0].entries or self._again:
            # A writer failed for good. What it left is delivered by one that meets no such answer, or by one that has
            # no reason left to fail.
            wholly = self._lives > 5
            self.moods.relent(wholly)
            if wholly:
                self.config = self._lenient()
            states = await self._live("leave", states, 0 if wholly else 3)

    def _lenient(self) -> AsyncSinkWriterConfig:
        letters = DeadLetterMemory() if self.config.dead_letters is not None else None
        # Patience as well: a writer that gives up sooner than capacity comes back would be followed by others for ever.
        retry = replace(self.config.retry, timeout_s=1e6, max_attempts=10_000)
        return replace(
            self.config,
            max_rejected=1.0,
            dead_letters=letters,
            fail_on_timeout=False,
            stall_timeout_s=None,
            retry=retry,
        )

    async def _live(
        self, ending: Ending, states: list[BufferedRequestState[Any]], steps: int
    ) -> list[BufferedRequestState[Any]]:
        self._lives += 1
        self._earlier = None
        self.moods.late = ending == "leave" and self.scenario.is_safe
        jitter = Jitter(f"{self.seed} jitter {self._lives}", self.scenario.creep_s)
        self.destination.history.waitless = jitter.waitless
        clients = FreshClients(SeededLimiters(jitter))
        writer = self._writer(0, clients, states)
        if self.scenario.beside:
            async with anyio.create_task_group() as group:
                group.start_soon(self._beside, clients, steps)
                left = await self._run(writer, ending, steps)
        else:
            left = await self._run(writer, ending, steps)
        return self._what_is_left(writer, left)

    def _writer(
        self, number: int, clients: FreshClients, states: list[BufferedRequestState[Any]] | None = None
    ) -> RecordedWriter:
        group = Metrics().group if self.scenario.metrics else UNREGISTERED
        context = WriterInitContext(
            writer_id=number,
            query_id=f"seed-{self.seed}",
            batch_id=1,
            attempt=self._lives,
            clients=clients,
            metric_group=group,
        )
        return RecordedWriter(
            self.sink, self.config, context=context, states=states or (), limited=self.scenario.limited
        )

    def _operations(self, writer: RecordedWriter, who: str) -> Operations:
        return Operations(writer, self.scenario, self._stream(f"{who} {self._lives}"), self._names)

    async def _beside(self, clients: FreshClients, steps: int) -> None:
        """A second writer that shares the first one's limiters, and is left in peace whatever becomes of that."""
        async with self._writer(1, clients) as writer:
            self._watched.append(writer)
            try:
                await self._operations(writer, "beside").run(steps)
            finally:
                self._watched.remove(writer)

    async def _run(self, writer: RecordedWriter, ending: Ending, steps: int) -> bool:
        """One life of the writer that is watched and may be killed; whether it was left normally."""
        left = False
        with anyio.CancelScope() as whole:
            try:
                if self.scenario.misused:
                    await self._misuse(writer.writer)
                async with writer, anyio.create_task_group() as group:
                    self._watched.append(writer)
                    if self.scenario.misused:
                        await self._misuse_entered(writer.writer)
                    group.start_soon(self._watch, writer)
                    if ending in ("kill", "close"):
                        group.start_soon(self._end, writer, ending, whole)
                    await self._work(writer, ending, steps)
                    group.cancel_scope.cancel()
                left = ending == "leave"
            except BaseExceptionGroup as errors:
                if errors.split((KilledError, DeliveryError, WriterFailedError, WriterClosedError))[1] is not None:
                    raise
            except (DeliveryError, WriterFailedError):
                pass
            finally:
                self._watched[:] = [each for each in self._watched if each is not writer]
        return left

    def _what_is_left(self, writer: RecordedWriter, left: bool) -> list[BufferedRequestState[Any]]:
        """The state for the next life: that of the end, or an earlier one with what came since to be repeated."""
        states, accepted = writer.snapshot(), writer.accepted
        pending = [entry for entry in self._again if entry not in set(accepted)]
        if (not left or states[0].entries) and self._earlier is not None and self._random.random() < 0.5:
            states, count = self._earlier
            pending = accepted[count:] + pending
        held = set(states[0].entries)
        self._again = [entry for entry in dict.fromkeys(pending) if entry not in held]
        return states

    async def _misuse(self, writer: AsyncSinkWriter[Any, Any]) -> None:
        """Call a writer that has not been entered; another one is closed before that, and one while it connects."""
        with suppress(WriterClosedError):
            await writer.write(None)
        writer.snapshot_state()
        context = WriterInitContext(query_id="misused")
        for entries, sizes in (((), ()), ((FakeEntry("large"),), (2**60,))):
            other = AsyncSinkWriter(self.sink, context, self.config, [BufferedRequestState(entries, sizes)])
            with suppress(WriterClosedError, OversizedEntryError):
                if not entries:
                    await other.aclose()
                await other.__aenter__()
            await other.aclose()

    async def _misuse_entered(self, writer: AsyncSinkWriter[Any, Any]) -> None:
        """Enter a writer twice, and ask it from another thread."""
        with suppress(WriterClosedError):
            await writer.__aenter__()
        thread = Thread(target=writer.statistics)
        thread.start()
        thread.join()

    # ---- the tasks of a life ---------------------------------------------------------------------------------

    async def _work(self, writer: RecordedWriter, ending: Ending, steps: int) -> None:
        for start in range(0, len(self._again), 20):
            await writer.write_many(self._again[start : start + 20])
        await self._operations(writer, "work").run(steps)
        if ending in ("kill", "close"):
            await anyio.sleep_forever()
        if ending == "raise":
            raise KilledError

    async def _watch(self, writer: RecordedWriter) -> None:
        """Flush and take snapshots from beside, at any time."""
        random = self._stream(f"watch {self._lives}")
        try:
            while True:
                await anyio.sleep(random.choice([0.0, 0.003, 0.1, 1.0, 10.0]))
                if random.random() < 0.5:
                    await writer.flush()
                else:
                    self._earlier = writer.snapshot(), len(writer.accepted)
        except WriterClosedError:
            return

    async def _end(self, writer: RecordedWriter, ending: Ending, whole: anyio.CancelScope) -> None:
        await anyio.sleep(self._random.choice([0.0, 0.02, 0.3, 3.0]) + self._random.random())
        if ending == "kill":
            writer.closing()
            whole.cancel()
        else:
            await writer.aclose()
            raise KilledError
