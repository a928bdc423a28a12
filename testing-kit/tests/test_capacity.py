"""The capacity of a destination: what it takes, what it throttles, what it says."""

from __future__ import annotations

import anyio
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import FailureKind, ListBlock, RequestError
from asyncsink.request import ListRequestEntries
from asyncsink_testing import FakeDestination, FakeEntry
from asyncsink_testing.capacity import Capacity, CapacityChange, CapacityDestination, CapacityFaults, CapacityModel
from asyncsink_testing.virtual_time import run_in_virtual_time


def drain(capacity: Capacity, now_s: float, count: int = 1) -> int:
    """How often a request of `count` entries is taken whole at one instant."""
    taken = 0
    while capacity.take(now_s, count).taken == count:
        taken += 1
    return taken


def test_a_full_bucket_gives_its_depth_and_then_what_it_refills() -> None:
    capacity = Capacity(CapacityModel(records_per_s=100, burst_s=0.5))
    assert drain(capacity, 0.0) == 50
    assert drain(capacity, 0.1) == 10
    assert drain(capacity, 60.0) == 50


def test_a_quota_for_each_second_refills_at_the_full_second_only() -> None:
    capacity = Capacity(CapacityModel(records_per_s=100, refill_every_s=1.0))
    assert drain(capacity, 0.2) == 100
    assert drain(capacity, 0.999) == 0
    assert drain(capacity, 1.0) == 100


def test_a_request_beyond_is_throttled_whole_unless_by_index() -> None:
    assert Capacity(CapacityModel(records_per_s=10)).take(0.0, 10).taken == 10
    whole, by_index = (Capacity(CapacityModel(records_per_s=10, by_index=flag)) for flag in (False, True))
    assert [whole.take(0.0, 6).taken for _ in range(2)] == [6, 0]
    assert [by_index.take(0.0, 6).taken for _ in range(2)] == [6, 4]


def test_a_request_larger_than_the_bucket_is_taken_on_credit() -> None:
    capacity = Capacity(CapacityModel(records_per_s=10))
    assert capacity.take(0.0, 25).taken == 25
    assert capacity.take(1.5, 1).taken == 0
    assert capacity.take(1.6, 1).taken == 1


def test_bytes_and_requests_have_quotas_of_their_own() -> None:
    by_size = Capacity(CapacityModel(bytes_per_s=1000, by_index=True))
    assert by_size.take(0.0, 10, 800).taken == 10
    assert by_size.take(0.0, 10, 400).taken == 5
    by_request = Capacity(CapacityModel(requests_per_s=2, by_index=True))
    assert [by_request.take(0.0, 500).taken for _ in range(3)] == [500, 500, 0]


@pytest.mark.parametrize(("step_s", "hint_s"), [(None, None), (0.0, 0.3), (1.0, 1.0)])
def test_the_hint_says_when_the_request_would_fit(step_s: float | None, hint_s: float | None) -> None:
    capacity = Capacity(CapacityModel(records_per_s=100, hint_step_s=step_s))
    assert capacity.take(0.0, 70).retry_after_s is None
    assert capacity.take(0.0, 60).retry_after_s == (None if hint_s is None else pytest.approx(hint_s))


def test_the_hint_of_a_stepwise_quota_names_its_next_step() -> None:
    capacity = Capacity(CapacityModel(records_per_s=100, refill_every_s=1.0, hint_step_s=0.0))
    assert drain(capacity, 0.25, 10) == 10
    assert capacity.take(0.25, 10).retry_after_s == pytest.approx(0.75)


def test_latency_grows_with_the_requests_beyond_the_knee() -> None:
    capacity = Capacity(CapacityModel(latency_s=0.1, knee=2))
    assert [capacity.take(0.0, 1).latency_s for _ in range(4)] == pytest.approx([0.1, 0.1, 0.15, 0.2])
    assert capacity.take(0.12, 1).latency_s == pytest.approx(0.15), "two of the four are still under way"


def test_capacity_changes_with_time_and_an_outage_takes_nothing() -> None:
    changes = (CapacityChange(10, 2.0), CapacityChange(20, 0.0), CapacityChange(30, 0.5))
    capacity = Capacity(CapacityModel(records_per_s=100, changes=changes, hint_step_s=0.0))
    assert drain(capacity, 0.0) == 100
    assert drain(capacity, 11.0) == 200
    assert capacity.take(20.0, 1) == (0, 0.05, 0.0)
    assert drain(capacity, 29.0) == 0
    assert drain(capacity, 40.0) == 50
    assert [capacity.model.factor(at_s) for at_s in (0, 10, 25, 99)] == [1.0, 2.0, 0.0, 0.5]


def test_what_refills_before_a_change_refills_at_the_old_rate() -> None:
    capacity = Capacity(CapacityModel(records_per_s=100, burst_s=10, changes=(CapacityChange(1.0, 4.0),)))
    assert drain(capacity, 0.0) == 1000
    assert drain(capacity, 2.0) == 100 + 400


@given(
    st.lists(st.tuples(st.floats(0, 2), st.integers(1, 50)), max_size=50),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.1, 1.0, 3.0]),
)
def test_never_more_is_taken_than_bucket_refill_and_credit(
    requests: list[tuple[float, int]], by_index: bool, step_s: float, burst_s: float
) -> None:
    model = CapacityModel(records_per_s=20, burst_s=burst_s, by_index=by_index, refill_every_s=step_s)
    capacity, now_s, taken = Capacity(model), 0.0, 0
    for gap_s, count in requests:
        now_s += gap_s
        grant = capacity.take(now_s, count)
        assert grant.taken in range(count + 1) if by_index else grant.taken in (0, count)
        taken += grant.taken
        assert taken <= 20 * (burst_s + now_s + step_s) + 50


def test_the_same_seed_gives_the_same_latencies() -> None:
    def latencies(seed: int) -> list[float]:
        capacity = Capacity(CapacityModel(jitter=0.5), seed)
        return [capacity.take(at, 1).latency_s for at in range(20)]

    assert latencies(1) == latencies(1) != latencies(2)
    assert all(0.025 <= each <= 0.075 for each in latencies(3))


def test_a_destination_answers_as_its_capacity_decides() -> None:
    told: list[tuple[int, int, int]] = []
    model = CapacityModel(records_per_s=10, requests_per_s=2, by_index=True, hint_step_s=0.0)
    destination = CapacityDestination(Capacity(model), lambda *each: told.append(each))
    entries = ListRequestEntries(ListBlock(range(6), [1] * 6))

    async def main() -> float:
        assert not (await destination.handle(entries, 7)).failed
        partly = await destination.handle(entries)
        assert set(partly.failed) == {4, 5}
        with pytest.raises(RequestError) as refused:
            await destination.handle(entries, 7)
        assert refused.value.retry_after_s
        return anyio.current_time()

    clock = trio.testing.MockClock(autojump_threshold=0)
    start_s = clock.current_time()
    end_s = trio.run(main, clock=clock)
    assert end_s - start_s >= 3 * 0.05
    assert told == [(7, 6, 6), (0, 6, 4), (7, 6, 0)]


def test_a_fake_destination_throttles_by_a_capacity_for_each_scope() -> None:
    made: list[object] = []

    def make(scope: object) -> Capacity:
        made.append(scope)
        return Capacity(CapacityModel(records_per_s=10, by_index=True, latency_s=0.0))

    destination = FakeDestination(CapacityFaults(make))
    entries = [FakeEntry(index) for index in range(8)]
    request = ListRequestEntries(ListBlock(entries, [1] * 8))

    async def main() -> None:
        for scope in ("a", "b"):
            assert not (await destination.handle(request, 1, scope)).failed
        partly = await destination.handle(request, 1, "a")
        assert set(partly.failed) == {2, 3, 4, 5, 6, 7}
        assert all(each.kind in (None, FailureKind.THROTTLED) for each in partly.failed.values())

    run_in_virtual_time(main)
    assert made == ["a", "b"]
