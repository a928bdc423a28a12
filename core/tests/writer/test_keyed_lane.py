"""What a keyed lane gives out, and what it costs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any
from weakref import WeakSet

import pytest

from asyncsink import ListBlock
from asyncsink.blocks import EntryBlock
from asyncsink.writer.buffer import Run
from asyncsink.writer.keyed import SLACK_IN_BYTES, KeyedLane
from asyncsink.writer.request import InFlightRequest

from .keyed import KeyedEntry, of
from .test_keyed_lane_model import items, make_lane

ALL = 1_000_000


def add(lane: KeyedLane, keys: Sequence[Hashable | None], first: int = 0) -> None:
    """Append an entry for each key, named by its sequence number."""
    entries = [KeyedEntry(name, key) for name, key in enumerate(keys, first)]
    lane.append(Run(ListBlock(entries, [1] * len(keys), keys), 0, len(keys), first), len(keys))


def cut(lane: KeyedLane, most: int = ALL) -> list[Run]:
    return lane.cut(*lane.measure(most, ALL))


def give_back(lane: KeyedLane, runs: list[Run]) -> None:
    lane.free(runs)
    for run in runs:
        lane.give_back(run)


def numbers(runs: list[Run]) -> list[int]:
    return [sequence for sequence, _ in items(runs)]


def test_a_batch_that_was_measured_and_did_not_go_has_one_entry_of_a_key_when_it_is_measured_again() -> None:
    lane = make_lane(atomic=False)
    add(lane, "aab")
    assert [lane.measure(ALL, ALL) for _ in range(3)] == [(2, 2)] * 3
    assert numbers(cut(lane)) == [0, 2]


def test_a_batch_after_one_that_came_back_has_one_entry_of_a_key() -> None:
    lane = make_lane(atomic=False)
    add(lane, "aab")
    give_back(lane, cut(lane))
    assert numbers(cut(lane)) == [0, 2]


def test_a_key_that_gets_free_may_have_the_oldest_entry() -> None:
    lane = make_lane(atomic=False)
    add(lane, "aab")
    first = cut(lane, 1)
    lane.measure(ALL, ALL)
    lane.free(first)
    assert lane.first_sequence == 1


def test_a_whole_request_of_an_atomic_sink_takes_all_of_a_key_in_order() -> None:
    lane = make_lane(atomic=True)
    add(lane, "abaab")
    request = cut(lane, 4)
    assert numbers(request) == [0, 1, 2, 3]
    assert lane.measure(ALL, ALL) == (0, 0)
    give_back(lane, request)
    assert numbers(cut(lane)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("atomic", [False, True])
def test_nothing_is_left_behind_of_keys_that_came_and_went(atomic: bool) -> None:
    lane = make_lane(atomic)
    for turn in range(20):
        add(lane, [f"{turn} {number % 500}" for number in range(1_000)], turn * 1_000)
        while lane.count:
            request = cut(lane, 300)
            parked = request[0].take([request[0].start], 1, None)
            lane.free(request)
            lane.hold((parked,))
            lane.measure(10, ALL)
            lane.free((parked,))
    assert (lane._lines, lane._heads, lane._line_of_head, lane._chosen) == ({}, [], {}, [])
    assert (lane._left, lane._kept_bytes) == ({}, 0)
    assert lane.is_idle


class CountedKeys:
    """Counts how many keys are asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, block: EntryBlock[Any]) -> list[Hashable | None]:
        self.asked += len(block)
        return [entry.key for entry in block]


def test_each_entry_is_asked_for_its_key_a_few_times_however_large_the_block_and_many_the_keys() -> None:
    counted = CountedKeys()
    lane = KeyedLane(None, make_lane(atomic=False).scope, counted, atomic=False)
    entries = [KeyedEntry(number, number % 10_000) for number in range(20_000)]
    lane.append(Run(ListBlock(entries, [1] * len(entries)), 0, len(entries), 0), len(entries))
    while lane.count:
        lane.free(cut(lane, 500))
    assert counted.asked == 2 * len(entries), "once when it comes and once when its request ends"


def test_halving_a_request_to_its_entries_asks_for_each_key_a_few_times_a_level() -> None:
    counted = CountedKeys()
    lane = KeyedLane(None, make_lane(atomic=False).scope, counted, atomic=False)
    entries = [KeyedEntry(number, number) for number in range(512)]
    lane.append(Run(ListBlock(entries, [1] * 512), 0, 512, 0), 512)
    parts: list[InFlightRequest[Any]] = [InFlightRequest(lane, cut(lane), 512, 512, "", 1)]
    counted.asked = 0
    while len(parts) < 512:
        parts = [part.part(pieces, which) for part in parts for which, pieces in enumerate(lane.halves(part))]
    assert counted.asked <= 9 * 2 * 512
    assert [len(part.pieces) for part in parts] == [1] * 512


def test_halves_of_several_keys_share_none_and_keep_the_order() -> None:
    lane = make_lane(atomic=True)
    add(lane, [entry.key for entry in of("ab.aba")])
    request: InFlightRequest[Any] = InFlightRequest(lane, cut(lane), 6, 6, "", 1)
    first, second = lane.halves(request)
    assert (numbers(first), numbers(second)) == ([0, 3, 5], [1, 2, 4])
    assert not lane.share_a_key(first, second)


def test_halves_of_one_key_share_it() -> None:
    lane = make_lane(atomic=True)
    add(lane, "aaa")
    first, second = lane.halves(InFlightRequest(lane, cut(lane), 3, 3, "", 1))
    assert (numbers(first), numbers(second)) == ([0], [1, 2])
    assert lane.share_a_key(first, second)


class WatchedBlock(ListBlock[KeyedEntry]):
    """A block that can be seen to be gone."""

    __slots__ = ("__weakref__",)


@pytest.mark.parametrize("atomic", [False, True])
def test_a_key_that_is_held_does_not_keep_all_that_came_with_it_in_memory(atomic: bool) -> None:
    lane = make_lane(atomic)
    add(lane, ["hot"])
    hot = cut(lane)
    blocks: WeakSet[WatchedBlock] = WeakSet()
    most = 0
    for turn in range(200):
        first = 1 + turn * 1_000
        entries = [KeyedEntry(first + at, at or "hot", 100) for at in range(1_000)]
        block = WatchedBlock(entries, [100] * 1_000)
        blocks.add(block)
        lane.append(Run(block, 0, 1_000, first), 100_000)
        del block
        lane.free(cut(lane))
        most = max(most, len(blocks))
    assert lane.count == 200
    assert most * 100_000 <= 2 * lane.size_in_bytes + SLACK_IN_BYTES + 100_000
    give_back(lane, hot)
    sent = []
    while lane.count:
        request = cut(lane)
        lane.free(request)
        sent += numbers(request)
    assert sent == [0, *range(1, 200_001, 1_000)]
    assert (lane._left, lane._kept_bytes) == ({}, 0)
