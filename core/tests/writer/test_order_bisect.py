"""Requests that were refused for what they hold, where keys have an order."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from asyncsink import RequestEntries, RequestResult
from asyncsink.writer.request import InFlightRequest
from asyncsink_testing import FakeClient, FakeDestination, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import settled
from .keyed import AtomicSink, KeyedEntry, KeyedSink, check_order, keyed, of, said

SLOW = Step(latency_s=1.0)
REFUSED = Step(Fault.REJECTED)
DROP: dict[str, Any] = {"on_rejected": "drop", "max_rejected": 1.0, "max_batch_size": 4}


@pytest.mark.parametrize("sink", [KeyedSink, AtomicSink])
@virtual
async def test_halves_of_different_keys_are_under_way_at_once(sink: type[KeyedSink]) -> None:
    destination = FakeDestination([REFUSED, SLOW, SLOW])
    async with sink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(of("abcd"))
        await settled()
        assert sorted(said(destination)) == ["a1 b2", "a1 b2 c3 d4", "c3 d4"]
        assert len(destination.in_flight) == 2


@virtual
async def test_keys_that_repeat_are_kept_together() -> None:
    destination = FakeDestination([REFUSED, SLOW, SLOW])
    async with AtomicSink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(of("abab"))
        await settled()
        assert sorted(said(destination)) == ["a1 a3", "a1 b2 a3 b4", "b2 b4"]
        assert len(destination.in_flight) == 2


@virtual
async def test_halves_of_one_key_go_one_after_the_other() -> None:
    destination = FakeDestination([REFUSED, SLOW, SLOW])
    async with AtomicSink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(of("aaaa"))
        await anyio.sleep(0.5)
        assert said(destination) == ["a1 a2 a3 a4", "a1 a2"]
    assert said(destination)[2:] == ["a3 a4"]


@pytest.mark.parametrize(
    ("first_half", "then"),
    [
        (Step(Fault.THROTTLED, 1.0), ["a1 a2"]),
        (Step(Fault.ANSWER_LOST, 1.0), ["a1 a2"]),
        (Step(Fault.DISCONNECTED, 1.0), ["a1 a2"]),
        (Step(Fault.HANGING), ["a1 a2"]),
        (Step(Fault.REJECTED, 1.0), ["a1", "a2"]),
        (Step.partly(Fault.PARTLY_THROTTLED, 0, 1, latency_s=1.0), ["a1 a2"]),
    ],
    ids=lambda each: each.fault.value if isinstance(each, Step) else "",
)
@virtual
async def test_the_second_half_waits_until_the_first_is_settled(first_half: Step, then: list[str]) -> None:
    destination = FakeDestination([REFUSED, first_half])
    async with AtomicSink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(of("aaaa"))
        await writer.write_many(of("a", first=5))
    assert said(destination) == ["a1 a2 a3 a4", "a1 a2", *then, "a3 a4", "a5"]
    check_order(destination, atomic=True)


@pytest.mark.parametrize("fault", [Fault.PARTLY_FAILED, Fault.PARTLY_THROTTLED])
@pytest.mark.parametrize("failed", [(0,), (1,), (0, 1)])
@virtual
async def test_the_second_half_waits_for_entries_of_the_first_that_came_back(
    fault: Fault, failed: tuple[int, ...]
) -> None:
    destination = FakeDestination([REFUSED, Step.partly(fault, *failed, latency_s=1.0, retry_after_s=3.0)])
    async with AtomicSink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(of("aaaa"))
    assert said(destination)[:2] == ["a1 a2 a3 a4", "a1 a2"]
    names = [entry.name for request in destination.requests[2:] for entry in request.entries]
    assert names == sorted(names) == [*(index + 1 for index in failed), 3, 4]


@virtual
async def test_other_keys_go_on_while_the_second_half_waits_for_the_first() -> None:
    destination = FakeDestination([REFUSED, Step(latency_s=9.0)])
    async with AtomicSink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(of("aaaa"))
        await settled()
        await writer.write_many(of("bbbb", first=5))
        await settled()
        assert said(destination) == ["a1 a2 a3 a4", "a1 a2", "b5 b6 b7 b8"]
    assert said(destination)[3:] == ["a3 a4"]


class Poisoned(AtomicSink):
    """Refuses each request that holds one of these entries."""

    bad: frozenset[int] = frozenset()

    async def submit_request_entries(self, entries: RequestEntries[Any], client: FakeClient) -> RequestResult:
        names = [entry.name for entry in entries]
        if self.bad.intersection(names):
            client.destination.script([REFUSED])
        return await super().submit_request_entries(entries, client)


@pytest.mark.parametrize("bad", [{1}, {4}, {5}, {8}, {1, 8}, {4, 5}, {2, 3, 7}, set(range(1, 9))])
@pytest.mark.parametrize("keys", ["aaaaaaaa", "abababab", "aaab.ba.", "a.a.a.a.", "........"])
@virtual
async def test_bisecting_finds_what_is_poisoned_and_keeps_the_order_of_the_rest(bad: set[int], keys: str) -> None:
    class Sink(Poisoned):
        pass

    Sink.bad = frozenset(bad)
    destination = FakeDestination(())
    given = of(keys)
    async with Sink(destination).open(keyed(**DROP | {"max_batch_size": 8})) as writer:
        await writer.write_many(given)
        await writer.write_many(of(keys[:4], first=11))
        await writer.flush(end_of_input=True)
        statistics = writer.statistics()
        lane: Any = writer._engine.lane(None)
        assert lane.is_idle
        assert lane._lines == {}
    kept = [entry.name for entry in (*given, *of(keys[:4], first=11)) if entry.name not in bad]
    assert sorted(entry.name for entry in destination.stored) == kept
    assert (statistics.dropped, statistics.acknowledged) == (len(bad), len(kept))
    check_order(destination, atomic=True)


@virtual
async def test_a_snapshot_between_two_halves_has_both_in_order() -> None:
    destination = FakeDestination([REFUSED, SLOW, SLOW])
    given = of("aaaa")
    async with AtomicSink(destination).open(keyed(**DROP)) as writer:
        await writer.write_many(given)
        await anyio.sleep(0.5)
        assert list(writer.snapshot_state()[0].entries) == given
        await anyio.sleep(1.0)
        assert list(writer.snapshot_state()[0].entries) == given[2:]


@virtual
async def test_halves_that_wait_are_compared_with_those_of_their_own_request_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    is_part_of = InFlightRequest.is_part_of

    def counted(self: InFlightRequest[Any], path: tuple[int, ...]) -> bool:
        compared.append(self.number)
        return is_part_of(self, path)

    monkeypatch.setattr(InFlightRequest, "is_part_of", counted)
    destination = FakeDestination()
    destination.script([], then=REFUSED)
    limits = {"max_in_flight_requests": 20, "max_buffered_requests": 400, "max_batch_size": 16}
    async with AtomicSink(destination).open(keyed(**DROP | limits)) as writer:
        for number in range(20):
            await writer.write_many([KeyedEntry(100 * number + at, number) for at in range(16)])
        await writer.flush(end_of_input=True)
        assert writer.statistics().dropped == 320
    assert len(compared) < 200 * len(destination.requests)
