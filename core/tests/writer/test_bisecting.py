"""A request that is refused as a whole for what it holds is halved until the entries at fault are alone."""

from __future__ import annotations

import anyio
import pytest

from asyncsink import RetryPolicy
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink_testing import FakeDestination, FakeEntry, FakeSink, Fault, PoisonedEntries, SentRequest, Step
from asyncsink_testing.virtual_time import virtual

from .harness import batches, entries, settled, small, stored
from .rejected import held, hold_that_it_adds_up, keeping, names_in, poison, poisoned


def mixed(count: int, *bad: int) -> list[FakeEntry]:
    return [poison(name) if name in bad else FakeEntry(name) for name in range(1, count + 1)]


@virtual
async def test_halves_have_the_ids_of_a_path_and_attempts_from_one() -> None:
    destination, store = poisoned(), DeadLetterMemory()
    async with FakeSink(destination).open(keeping(store, max_batch_size=4)) as writer:
        await writer.write_many(mixed(4, 3))
    whole = destination.requests[0].id
    seen = [(each.id.removeprefix(whole), each.attempt, len(each.entries)) for each in destination.requests]
    assert sorted(seen) == [("", 1, 4), ("/0", 1, 2), ("/1", 1, 2), ("/1/0", 1, 1), ("/1/1", 1, 1)]
    assert len({each.id for each in destination.requests}) == 5


@pytest.mark.parametrize("bad", [(), (1,), (8,), (4, 5), (1, 3, 5, 7), (1, 2, 3, 4, 5, 6, 7, 8)])
@pytest.mark.parametrize("in_flight", [1, 5])
@virtual
async def test_only_the_poison_is_given_up_and_its_neighbours_are_stored_once(
    bad: tuple[int, ...], in_flight: int
) -> None:
    destination, store = poisoned(), DeadLetterMemory()
    config = keeping(store, max_batch_size=8, max_in_flight_requests=in_flight)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(mixed(8, *bad))
        await writer.flush(end_of_input=True)
        hold_that_it_adds_up(writer)
    assert sorted(stored(destination)) == [name for name in range(1, 9) if name not in bad]
    assert sorted(names_in(store.letters)) == list(bad)
    told = writer.statistics()
    assert (told.acknowledged, told.dead_lettered, told.unacknowledged) == (8 - len(bad), len(bad), 0)


@virtual
async def test_one_poisoned_entry_costs_two_requests_for_each_halving() -> None:
    destination = poisoned()
    config = keeping(DeadLetterMemory(), max_batch_size=64, max_buffered_requests=100)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(mixed(64, 40))
    assert len(destination.requests) == 1 + 2 * 6


@virtual
async def test_halves_of_a_sealed_request_stay_sealed_and_keep_their_neighbours() -> None:
    # Its outcome is unknown first; then the halves' outcomes are unknown as well.
    destination = poisoned(steps=[Fault.REFUSED, Fault.OK, Fault.REFUSED, Fault.THROTTLED, Fault.THROTTLED])
    config = keeping(DeadLetterMemory(), max_batch_size=4)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many([*mixed(4, 1), *entries(5, 6)])
        await writer.flush(end_of_input=True)
    by_id: dict[str, set[tuple[object, ...]]] = {}
    for each, named in zip(destination.requests, batches(destination), strict=True):
        by_id.setdefault(each.id, set()).add(tuple(named))
    assert all(len(batch) == 1 for batch in by_id.values()), "an id came with other entries"
    (of_both,) = [sent for sent in by_id if sent.endswith("/1") and by_id[sent] == {(3, 4)}]
    assert of_both.count("/") == destination.requests[0].id.count("/") + 1
    assert sorted(stored(destination)) == [2, 3, 4, 5, 6]


class ThrottledHalves:
    """Throttles a half of a refused request three times, as a whole or entry by entry."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def next_step(self, request: SentRequest) -> Step:
        return Step(self.fault if request.id.endswith(("/0", "/1")) and request.attempt < 4 else Fault.OK)


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.PARTLY_THROTTLED])
@virtual
async def test_a_half_that_is_throttled_comes_again_as_it_is(fault: Fault) -> None:
    # Cut anew it would be one request with the other half again, and refused again, for ever.
    destination = FakeDestination(PoisonedEntries(ThrottledHalves(fault)))
    async with FakeSink(destination).open(keeping(DeadLetterMemory(), max_batch_size=4)) as writer:
        await writer.write_many(mixed(4, 4))
        await writer.flush(end_of_input=True)
    assert batches(destination)[:5] == [[1, 2, 3, 4], [1, 2], [1, 2], [1, 2], [1, 2]]
    assert [each.attempt for each in destination.requests[:5]] == [1, 1, 2, 3, 4]
    assert len({each.id for each in destination.requests}) == 5
    assert sorted(stored(destination)) == [1, 2, 3]


@virtual
async def test_halves_are_in_the_snapshot_at_every_step() -> None:
    store = DeadLetterMemory()
    destination = poisoned(then=Step(latency_s=1.0))
    async with FakeSink(destination).open(keeping(store, max_batch_size=8, max_in_flight_requests=2)) as writer:
        await writer.write_many(mixed(8, 5))
        for step in range(12):
            await anyio.sleep_until(step + 0.5)
            kept = {*stored(destination), *names_in(store.letters)}
            assert {*held(writer)} == {*range(1, 9)} - kept
            hold_that_it_adds_up(writer)
        assert held(writer) == []


@virtual
async def test_halves_that_are_in_flight_when_the_writer_fails_stay_in_the_snapshot() -> None:
    destination = poisoned(steps=[Fault.OK, Step(Fault.FATAL, 1.0), Step(Fault.OK, 5.0)])
    config = keeping(DeadLetterMemory(), max_batch_size=4, max_in_flight_requests=2)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(mixed(4, 1))
        await anyio.sleep(2.0)
        with pytest.raises(Exception, match="Forbidden"):
            await writer.flush()
        assert held(writer) == [1, 2, 3, 4]
        hold_that_it_adds_up(writer)


@virtual
async def test_refused_requests_do_not_shrink_the_rate_limit() -> None:
    destination, config = poisoned(), keeping(DeadLetterMemory(), max_batch_size=8)
    async with FakeSink(destination).open(config) as writer:
        await writer.write_many(mixed(16, *range(1, 9)))
        await writer.flush(end_of_input=True)
        assert len(destination.requests) > 15
        assert writer.statistics().max_batch_size == 1000


@virtual
async def test_an_entry_refused_by_index_does_not_shrink_the_rate_limit_either() -> None:
    destination = poisoned(by_index=True)
    async with FakeSink(destination).open(small(on_rejected="drop", max_rejected=1.0)) as writer:
        await writer.write_many(mixed(9, 1, 2, 3, 5))
        await settled()
        assert writer.statistics().max_batch_size == 1000
        assert writer.statistics().dropped == 4
    assert stored(destination) == [4, 6, 7, 8, 9]


@virtual
async def test_a_refusal_is_an_answer_after_which_the_time_of_the_destination_begins_anew() -> None:
    outage = [Step(Fault.REFUSED, 9.0)] * 3
    destination = poisoned(steps=[*outage, Step(latency_s=1.0), *outage])
    retry = RetryPolicy(timeout_s=32.0, initial_backoff_s=0.1, max_backoff_s=0.1)
    async with FakeSink(destination).open(keeping(DeadLetterMemory(), retry=retry)) as writer:
        await writer.write_many(mixed(2, 1))
        await writer.flush(end_of_input=True)
    assert anyio.current_time() > 55.0
    assert stored(destination) == [2]
