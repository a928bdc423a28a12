"""A keyed lane against a model of it: a list, looked through from its start each time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from asyncsink import AsyncSinkWriterConfig, ListBlock, RateLimit
from asyncsink.limits.limiter import Limiter
from asyncsink.writer.buffer import Run
from asyncsink.writer.keyed import KeyedLane
from asyncsink.writer.make import BlockMaker
from asyncsink.writer.scope import Scope
from asyncsink_testing import FakeDestination

from .keyed import KeyedEntry, KeyedSink

KEYS = (None, "a", "b", "c")
Item = tuple[int, KeyedEntry]
"""A sequence number and its entry."""


def make_lane(atomic: bool) -> KeyedLane:
    config = AsyncSinkWriterConfig()
    scope = Scope(None, Limiter(RateLimit.none().make(config), config.retry))
    return KeyedLane(None, scope, BlockMaker(KeyedSink(FakeDestination()), keyed=True).keys_of, atomic)


def items(runs: list[Run]) -> list[Item]:
    return [(sequence, entry) for run in runs for sequence, entry, _ in run.entries()]


class KeyedLaneMachine(RuleBasedStateMachine):
    """Everything that an engine does with a lane, in any order."""

    atomic = False

    def __init__(self) -> None:
        super().__init__()
        self.lane = make_lane(self.atomic)
        self.waiting: dict[int, KeyedEntry] = {}
        self.held: Counter[Any] = Counter()
        self.under_way: list[list[Run]] = []
        self.parked: list[Run] = []
        self.next_sequence = 0

    # ---- the model -------------------------------------------------------------------------------------------

    def expected_batch(self, most: int, size_limit: int) -> list[Item]:
        """The oldest entries of free keys: one of each, or as many as there are if requests are stored whole."""
        batch: list[Item] = []
        used: set[Any] = set()
        for sequence, entry in sorted(self.waiting.items()):
            if self.held[entry.key] or (entry.key in used and not self.atomic):
                continue
            if len(batch) == most or sum(each.size for _, each in batch) + entry.size > size_limit:
                break
            batch.append((sequence, entry))
            if entry.key is not None:
                used.add(entry.key)
        return batch

    def hold(self, runs: list[Run], by: int) -> None:
        for key in {entry.key for _, entry in items(runs)} - {None}:
            self.held[key] += by

    # ---- what an engine does ---------------------------------------------------------------------------------

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=6), size=st.integers(1, 3), known=st.booleans())
    def append(self, keys: list[Any], size: int, known: bool) -> None:
        first = self.next_sequence
        entries = [KeyedEntry(first + at, key, size) for at, key in enumerate(keys)]
        block = ListBlock(entries, [size] * len(keys), keys if known else None)
        self.lane.append(Run(block, 0, len(keys), first), size * len(keys))
        self.waiting |= dict(enumerate(entries, first))
        self.next_sequence += len(keys)

    @rule()
    def compact(self) -> None:
        """A lane does so by itself, but not for so few bytes."""
        self.lane._put_chosen_back()
        self.lane._compact()

    @precondition(lambda self: self.waiting)
    @rule(most=st.integers(1, 8), size_limit=st.integers(3, 12), goes=st.booleans())
    def measure(self, most: int, size_limit: int, goes: bool) -> None:
        expected = self.expected_batch(most, size_limit)
        count, size = self.lane.measure(most, size_limit)
        assert (count, size) == (len(expected), sum(entry.size for _, entry in expected))
        if count and goes:
            cut = self.lane.cut(count, size)
            assert items(cut) == expected
            for sequence, _ in expected:
                del self.waiting[sequence]
            self.hold(cut, +1)
            self.under_way.append(cut)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Each entry of a request is stored, comes back at once, or waits a backoff of its own."""
        request = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        self.lane.free(request)
        self.hold(request, -1)
        for piece in request:
            fates = data.draw(st.lists(st.integers(0, 2), min_size=len(piece), max_size=len(piece)))
            for fate in (1, 2):
                chosen = [piece.start + at for at, each in enumerate(fates) if each == fate]
                if chosen:
                    (self.give_back if fate == 1 else self.park)(piece.take(chosen, 1, None))

    def give_back(self, run: Run) -> None:
        self.lane.give_back(run)
        self.waiting |= items([run])

    def park(self, run: Run) -> None:
        self.lane.hold((run,))
        self.hold([run], +1)
        self.parked.append(run)

    @precondition(lambda self: self.parked)
    @rule(data=st.data())
    def unpark(self, data: st.DataObject) -> None:
        run = self.parked.pop(data.draw(st.integers(0, len(self.parked) - 1)))
        self.lane.free((run,))
        self.hold([run], -1)
        self.give_back(run)

    @rule()
    def ask_for_the_oldest(self) -> None:
        """Not an invariant, for a lane tidies up when it is asked."""
        free = [sequence for sequence, entry in self.waiting.items() if not self.held[entry.key]]
        assert self.lane.first_sequence == min(free, default=float("inf"))

    # ---- what is true at all times ---------------------------------------------------------------------------

    @invariant()
    def counts_and_bytes_are_those_of_what_waits(self) -> None:
        assert self.lane.count == len(self.waiting)
        assert self.lane.size_in_bytes == sum(entry.size for entry in self.waiting.values())

    @invariant()
    def a_snapshot_has_all_in_order(self) -> None:
        assert items(list(self.lane.runs())) == sorted(self.waiting.items())
        assert self.lane.oldest_sequence == min(self.waiting, default=float("inf"))

    @invariant()
    def there_is_a_line_for_a_key_only_while_it_waits_or_is_held(self) -> None:
        keys = {entry.key for entry in self.waiting.values()} | {key for key, count in self.held.items() if count}
        assert set(self.lane._lines) == keys - {None}
        assert self.lane.is_idle == (not self.waiting and not +self.held)

    @invariant()
    def the_blocks_are_those_of_what_waits(self) -> None:
        assert sum(self.lane._left.values()) == len(self.waiting)
        assert self.lane._kept_bytes == sum(run.size_in_bytes for run in self.lane._left) >= self.lane.size_in_bytes

    @invariant()
    def the_heap_has_no_more_than_what_waits(self) -> None:
        assert sorted(self.lane._heads) == sorted(self.lane._line_of_head)
        assert set(self.lane._heads) <= set(self.waiting)


class AtomicKeyedLaneMachine(KeyedLaneMachine):
    atomic = True


@pytest.mark.parametrize("machine", [KeyedLaneMachine, AtomicKeyedLaneMachine])
def test_a_keyed_lane_behaves_like_its_model(machine: type[KeyedLaneMachine]) -> None:
    case = machine.TestCase
    case.settings = settings(max_examples=150, stateful_step_count=30, deadline=None, derandomize=True)
    case().runTest()
