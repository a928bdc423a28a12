"""Runs a scenario with one strategy: real writers with an always full source, in virtual time, repeatable."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from random import Random

import anyio
import trio
import trio.testing

from asyncsink import (
    AsyncSink,
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    ConnectorOptions,
    ElementConverter,
    ErrorTable,
    InitContext,
    ListBlock,
    RateLimit,
    RateLimitingStrategy,
    RequestEntries,
    RequestResult,
    Schema,
    WriterInitContext,
)
from asyncsink.limits.limiter import Limiter, LimiterCache
from asyncsink_testing import IdentityConverter
from asyncsink_testing.capacity import Capacity, CapacityDestination
from asyncsink_testing.clients import FreshClients
from asyncsink_testing.destination import THROTTLED
from asyncsink_testing.scheduling import repeatable_scheduling

from .scenario import Scenario

STEP_S = 0.1
"""The grid on which everything is counted."""
PACE = 1
"""The entry of which all blocks are made."""


@dataclass(slots=True)
class Recording:
    """What happened, counted in steps of STEP_S; `limits` holds the first limiter's, at the end of each step."""

    steps: int
    writers: int
    offered: array[int] = field(init=False)
    taken: array[int] = field(init=False)
    limits: array[float] = field(init=False)
    taken_by: list[array[int]] = field(init=False)
    requests: int = 0

    def __post_init__(self) -> None:
        empty = [0] * self.steps
        self.offered, self.taken, self.limits = array("q", empty), array("q", empty), array("d")
        self.taken_by = [array("q", empty) for _ in range(self.writers)]

    def add(self, step: int, writer: int, count: int, taken: int) -> None:
        self.requests += 1
        if step < self.steps:
            self.offered[step] += count
            self.taken[step] += taken
            self.taken_by[writer][step] += taken


class SeededLimiters(LimiterCache):
    """One limiter, whose jitter comes from a seeded generator, and which can be looked at."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self.made: Limiter | None = None

    def limiter(self, scope: Hashable, config: AsyncSinkWriterConfig) -> Limiter:
        if self.made is None:
            self.made = Limiter(config.rate_limit.make(config), config.retry, self._random)
        return self.made


@dataclass(frozen=True, kw_only=True)
class NoOptions(ConnectorOptions):
    """Nothing to choose."""


class CapacitySink(AsyncSink[int, int, None]):
    """Sends to a destination with capacity; the entries are nothing but a number."""

    options_type = NoOptions
    errors = ErrorTable.of(throttled=[THROTTLED])

    def __init__(self, destination: CapacityDestination, writer: int, entry_bytes: int) -> None:
        super().__init__(NoOptions())
        self._destination, self._writer, self._entry_bytes = destination, writer, entry_bytes

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[None]:
        yield None

    def converter(self, schema: Schema | None) -> ElementConverter[int, int]:
        return IdentityConverter()

    def size_in_bytes(self, entry: int) -> int:
        return self._entry_bytes

    async def submit_request_entries(self, entries: RequestEntries[int], client: None) -> RequestResult:
        return await self._destination.handle(entries, self._writer)


def run(scenario: Scenario, rate_limit: RateLimit) -> Recording:
    """Run a scenario once. The same scenario and rate limit give the same recording."""
    recording = Recording(round(scenario.duration_s / STEP_S), scenario.writers)
    with repeatable_scheduling(scenario.seed), warnings.catch_warnings():
        # The source never ends, so there is always something left.
        warnings.filterwarnings("ignore", ".*unacknowledged", ResourceWarning)
        trio.run(_drive, scenario, rate_limit, recording, clock=trio.testing.MockClock(autojump_threshold=0))
    return recording


async def _drive(scenario: Scenario, rate_limit: RateLimit, recording: Recording) -> None:
    start_s = anyio.current_time()
    capacity = Capacity(scenario.destination, scenario.seed, start_s)

    def on_request(writer: int, count: int, taken: int) -> None:
        recording.add(int((anyio.current_time() - start_s) / STEP_S), writer, count, taken)

    destination = CapacityDestination(capacity, on_request)
    config = replace(scenario.config, rate_limit=rate_limit)
    caches = [SeededLimiters(Random(scenario.seed * 1000 + each)) for each in range(scenario.writers)]
    if scenario.share_limiter:
        caches = caches[:1] * scenario.writers
    async with AsyncExitStack() as stack:
        writers = []
        for number, cache in enumerate(caches):
            sink = CapacitySink(destination, number, scenario.entry_bytes)
            writer = AsyncSinkWriter(sink, WriterInitContext(clients=FreshClients(cache)), config)
            writers.append(await stack.enter_async_context(writer))
        async with anyio.create_task_group() as tasks:
            block = ListBlock([PACE] * config.max_batch_size, [scenario.entry_bytes] * config.max_batch_size)
            for writer in writers:
                tasks.start_soon(_write_for_ever, writer, block)
            await _sample(recording, lambda: _limit_of(caches[0].made), start_s)
            tasks.cancel_scope.cancel()
        for writer in writers:
            await writer.aclose()


async def _write_for_ever(writer: AsyncSinkWriter[int, int], block: ListBlock[int]) -> None:
    while True:
        await writer.write_block(block)


async def _sample(recording: Recording, limit: Callable[[], float], start_s: float) -> None:
    for step in range(recording.steps):
        await anyio.sleep_until(start_s + (step + 1) * STEP_S)
        recording.limits.append(limit())


def _limit_of(limiter: Limiter | None) -> float:
    """What the strategy allows: records a second where it has a rate, else the entries of a request."""
    if limiter is None:
        return 0.0
    strategy: RateLimitingStrategy = limiter.strategy
    rate = getattr(strategy, "records_per_s", None)
    return float(strategy.max_batch_size if rate is None else rate)
