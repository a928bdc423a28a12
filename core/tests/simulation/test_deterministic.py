"""Deterministic batching, drawn: one input, and schedules of faults, loads, speeds and kills that must not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import anyio
import pytest

from asyncsink import AsyncSinkWriter, AsyncSinkWriterConfig, RateLimit, RetryPolicy, WriterInitContext
from asyncsink.blocks import ListBlock
from asyncsink_testing import FakeDestination, FakeEntry, Fault, PoisonedEntries, RandomFaults
from asyncsink_testing.scheduling import repeatable_scheduling
from asyncsink_testing.virtual_time import run_in_virtual_time

from .batches import SINKS

pytestmark = pytest.mark.filterwarnings("ignore:.*unacknowledged:ResourceWarning")

FAULTS = (
    Fault.THROTTLED,
    Fault.REFUSED,
    Fault.ANSWER_LOST,
    Fault.DISCONNECTED,
    Fault.HANGING,
    Fault.HANGING_STORED,
)
LIMITS = (
    RateLimit.none(),
    RateLimit.aimd(),
    RateLimit.flink(),
    RateLimit.adaptive(),
    RateLimit.paced(),
    RateLimit.fixed(records=4, burst=2),
    RateLimit.fixed(requests=3),
)
HORIZON_S = 20_000.0


@dataclass(frozen=True)
class Input:
    """What a task is given, and given again: entries, where it flushes, and limits of the writer that cut."""

    entries: list[FakeEntry]
    flushes: frozenset[int]
    config: AsyncSinkWriterConfig
    routed: bool

    @property
    def poisoned(self) -> bool:
        return any(each.flaw for each in self.entries)

    @classmethod
    def draw(cls, random: Random) -> Input:
        most, record = random.choice([1, 2, 3, 7, 20]), random.choice([4, 10, 10])
        batch_bytes = record * random.choice([1, 2, 5, 50])
        config = AsyncSinkWriterConfig(
            batching="deterministic",
            max_batch_size=most,
            max_buffered_requests=most + random.choice([1, 3, 10, 60]),
            max_record_size_in_bytes=record,
            max_batch_size_in_bytes=batch_bytes,
            max_buffered_size_in_bytes=batch_bytes * random.choice([1, 2, 10]),
            max_time_in_buffer_s=0.1,
            request_timeout_s=2.0,
            on_rejected="drop",
            max_rejected=1.0,
            stall_timeout_s=None,
        )
        routes: Sequence[str | None] = random.choice([[None], [None], ["a", "b"], [*"abcdefgh"]])
        poison, count = random.choice([0.0, 0.0, 0.05, 0.3]), random.choice([3, 20, 80])
        entries = [
            FakeEntry(
                name,
                random.choice([0, 1, record // 2, record, random.randint(0, record)]),
                random.choice(routes),
                flaw="poison" if random.random() < poison else "",
            )
            for name in range(count)
        ]
        flushes = frozenset(each for each in range(count) if random.random() < random.choice([0.0, 0.0, 0.1]))
        return cls(entries, flushes, config, len(routes) > 1)


class Schedule:
    """One way in which the input may go out; what it draws decides about time and failures only."""

    def __init__(self, given: Input, seed: str, *, killed: bool = False) -> None:
        self.given, self.killed = given, killed
        self.random = Random(f"{seed} schedule")
        faults = RandomFaults(
            Random(f"{seed} faults"),
            self.random.sample(FAULTS, self.random.randint(0, len(FAULTS))),
            self.random.choice([0.0, 0.2, 0.5]),
            self.random.choice([[0.0], [0.01, 0.5], [0.1, 1.9]]),
            self.random.choice([[None], [None, 1.0]]),
            healthy_after_s=300.0,
        )
        self.destination = FakeDestination(PoisonedEntries(faults))
        limit = self.random.choice(LIMITS)
        retry = RetryPolicy(initial_backoff_s=self.random.choice([0.0, 0.1]), timeout_s=1e6)
        in_flight = self.random.choice([1, 2, 5])
        self.config = replace(given.config, rate_limit=limit, retry=retry, max_in_flight_requests=in_flight)

    def run(self) -> Schedule:
        with repeatable_scheduling(self.random.randrange(2**30)):
            run_in_virtual_time(self._bounded)
        return self

    async def _bounded(self) -> None:
        with anyio.fail_after(HORIZON_S):
            life_s = self.random.choice([0.0, 0.3, 3.0]) + self.random.random()
            with anyio.move_on_after(life_s if self.killed else HORIZON_S):
                await self._write()

    async def _write(self) -> None:
        sink = SINKS[False, self.given.routed](self.destination, config=self.config)
        context = WriterInitContext(query_id="q", batch_id=1, attempt=self.random.randrange(99))
        async with sink.create_writer(context) as writer:
            entries, start = self.given.entries, 0
            while start < len(entries):
                stop = min(len(entries), start + self.random.choice([1, 1, 3, 20]))
                stop = min([stop, *(each for each in self.given.flushes if start < each < stop)])
                await self._write_part(writer, entries[start:stop])
                if stop in self.given.flushes:
                    await writer.flush(end_of_input=True)
                elif self.random.random() < 0.3:
                    await anyio.sleep(self.random.choice([0.0, 0.2, 5.0]))
                    await writer.flush()
                start = stop

    async def _write_part(self, writer: AsyncSinkWriter[Any, Any], part: list[FakeEntry]) -> None:
        way = self.random.choice(["one", "many", "block"])
        if way == "one":
            for each in part:
                await writer.write(each)
        elif way == "many":
            await writer.write_many(part)
        else:
            await writer.write_block(ListBlock(part, [each.size for each in part]))

    def requests(self) -> dict[str, tuple[Any, ...]]:
        """The names of the entries by id; an id never stands for two lists of them."""
        found: dict[str, tuple[Any, ...]] = {}
        for request in self.destination.requests:
            names = tuple(entry.name for entry in request.entries)
            assert found.setdefault(request.id, names) == names, f"{request.id} came with other entries"
        return found

    def stored_ids(self) -> set[str]:
        return {each.request_id for each in self.destination.received}


@pytest.mark.parametrize("first", range(0, 80, 10))
def test_no_schedule_changes_what_requests_there_are(first: int) -> None:
    for seed in range(first, first + 10):
        given = Input.draw(Random(f"{seed} input"))
        expected = Schedule(given, f"{seed} first").run()
        requests = expected.requests()
        for which in range(2):
            assert Schedule(given, f"{seed} {which}").run().requests() == requests, f"seed {seed}"
        _check_killed(given, seed, requests)
        kept = [name for request_id in expected.stored_ids() for name in requests[request_id]]
        assert sorted(kept) == [each.name for each in given.entries if not each.flaw], f"seed {seed}"


def _check_killed(given: Input, seed: int, requests: dict[str, tuple[Any, ...]]) -> None:
    """A life that was cut short has sent nothing else, so that its successor's requests are repetitions."""
    for which in range(2):
        part = Schedule(given, f"{seed} killed {which}", killed=True).run().requests()
        assert part.items() <= requests.items(), f"seed {seed}"


def test_what_is_drawn_has_cuts_of_all_kinds_in_it() -> None:
    drawn = [Input.draw(Random(f"{seed} input")) for seed in range(80)]
    assert any(each.routed and len(each.entries) > each.config.max_buffered_requests for each in drawn)
    assert any(each.flushes for each in drawn)
    assert any(each.poisoned for each in drawn)
    assert any(sum(entry.size for entry in each.entries) > each.config.max_buffered_size_in_bytes for each in drawn)
