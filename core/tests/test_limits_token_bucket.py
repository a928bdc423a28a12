"""A fixed rate holds in every window, to the request, and is used up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise, repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink.limits import RequestInfo, ResultInfo, TokenBucketRateLimitingStrategy

MOST = 10_000


def sent(
    strategy: TokenBucketRateLimitingStrategy, sizes: Iterator[tuple[int, int]], until_s: float, from_s: float = 0.0
) -> list[tuple[float, int, int]]:
    """When which request goes if each is sent as soon as it may: time, records, bytes."""
    now_s, went = from_s, list[tuple[float, int, int]]()
    for records, size in islice(sizes, MOST):
        while (wait_s := strategy.delay_s(RequestInfo(records, size, now_s))) > 0:
            now_s += wait_s
        if now_s >= until_s:
            return went
        strategy.register_in_flight_request(RequestInfo(records, size, now_s))
        went.append((now_s, records, size))
    return went


def most_in(went: list[tuple[float, int, int]], window_s: float, at: int | None = None) -> int:
    """The most that went within any `window_s` seconds, both ends of it included."""
    amounts = [(each[0], 1 if at is None else int(each[at])) for each in went]
    return max(
        sum(amount for time_s, amount in amounts if start_s <= time_s <= start_s + window_s) for start_s, _ in amounts
    )


def bucket(**limits: Any) -> TokenBucketRateLimitingStrategy:
    return TokenBucketRateLimitingStrategy(**{"max_batch_size": 500, **limits})


@pytest.mark.parametrize("burst", [None, 1, 2, 50, 499, 500])
def test_500_requests_a_minute_are_5000_in_ten_and_never_501_in_any_60_seconds(burst: float | None) -> None:
    went = sent(bucket(requests=500, per_s=60, burst=burst), repeat((1, 1)), 600.0)
    assert len(went) == 5000
    assert most_in(went, 60.0) == 500


def test_what_was_not_used_is_not_saved_up_beyond_the_burst() -> None:
    strategy = bucket(requests=500, per_s=60, burst=20)
    late = sent(strategy, repeat((1, 1)), 1060.0, from_s=1000.0)
    assert len([time_s for time_s, *_ in late if time_s == 1000.0]) == 20
    assert len(late) == 500


def test_by_default_a_seconds_worth_goes_at_once() -> None:
    at_once = [time_s for time_s, *_ in sent(bucket(requests=600, per_s=60), repeat((1, 1)), 5.0) if time_s == 0.0]
    assert len(at_once) == 10
    short = [time_s for time_s, *_ in sent(bucket(requests=7, per_s=0.5), repeat((1, 1)), 0.5)]
    assert short == [0.0] * 7


def test_after_its_burst_it_sends_evenly() -> None:
    times_s = [time_s for time_s, *_ in sent(bucket(requests=10, burst=1), repeat((1, 1)), 1.0)]
    assert times_s == pytest.approx([0.1 * number for number in range(10)], abs=1e-5)


def test_records_and_bytes_are_counted_as_they_are_sent() -> None:
    went = sent(bucket(records=1000, size_in_bytes=8000), repeat((100, 1000)), 10.0)
    assert most_in(went, 1.0, at=2) == 8000
    assert len(went) == 80, "bytes allow less than records do"


def test_all_limits_hold_together() -> None:
    went = sent(bucket(requests=3, records=100, size_in_bytes=10_000), iter([(10, 10)] * 7 + [(60, 10)] * 9), 6.5)
    assert most_in(went, 1.0) == 3
    assert most_in(went, 1.0, at=1) <= 100


def test_a_fraction_is_an_average() -> None:
    assert len(sent(bucket(requests=0.5), repeat((1, 1)), 100.0)) == 50
    assert len(sent(bucket(requests=2.5), repeat((1, 1)), 100.0)) == pytest.approx(250, abs=2)
    assert most_in(sent(bucket(requests=2.5), repeat((1, 1)), 100.0), 1.0) == 3


def test_more_than_ever_fits_goes_alone_and_is_paid_for_after_it() -> None:
    went = sent(bucket(size_in_bytes=100), repeat((1, 450)), 90.0)
    assert went[0][0] == 0.0
    assert sum(size for *_, size in went) == pytest.approx(9000, rel=0.05)
    assert all(later[0] - earlier[0] > 4.4 for earlier, later in pairwise(went))


def test_more_than_the_burst_but_not_than_the_window_goes_when_the_burst_is_full() -> None:
    strategy = bucket(records=60, per_s=60, burst=2)
    went = sent(strategy, repeat((10, 1)), 600.0)
    assert sum(records for _, records, _ in went) == pytest.approx(600, abs=10)
    assert most_in(went, 60.0, at=1) <= 60


def test_batches_are_cut_so_that_whole_ones_fill_the_allowance() -> None:
    assert bucket(records=1000, max_batch_size=700).max_batch_size == 500
    assert bucket(records=600, per_s=60, burst=600).max_batch_size == 300
    assert bucket(records=600, per_s=60, burst=7).max_batch_size == 6
    assert bucket(records=10**6).max_batch_size == 500
    assert bucket(records=0.2).max_batch_size == 1
    assert bucket(requests=1).max_batch_size == 500


def test_batches_are_cut_by_the_size_that_entries_have_had() -> None:
    strategy = bucket(size_in_bytes=10_000)
    assert strategy.max_batch_size == 500, "nothing is known yet"
    strategy.register_completed_request(ResultInfo(10, 1000, 0, 0, 0.0, 1.0, None))
    assert strategy.max_batch_size == 100
    strategy.register_completed_request(ResultInfo(1, 10**6, 0, 0, 0.0, 1.0, None))
    assert strategy.max_batch_size == 1


def test_it_never_blocks_without_saying_until_when() -> None:
    strategy = bucket(requests=1)
    strategy.register_in_flight_request(RequestInfo(1, 1, 0.0))
    assert not strategy.should_block(RequestInfo(1, 1, 0.0))
    assert strategy.delay_s(RequestInfo(1, 1, 0.25)) == pytest.approx(0.75, abs=1e-5)


def test_the_memory_of_a_long_window_is_bounded() -> None:
    strategy = bucket(requests=10**9, per_s=86_400.0)
    for number in range(50_000):
        strategy.register_in_flight_request(RequestInfo(1, 1, number * 0.1))
    assert strategy._requests is not None
    assert len(strategy._requests._log) < 10_000


def test_what_is_remembered_as_one_leaves_the_window_as_the_last_of_it() -> None:
    strategy = bucket(requests=2, per_s=20_000.0, burst=2)
    for now_s in (0.0, 1.5):
        assert strategy.delay_s(RequestInfo(1, 1, now_s)) == 0.0
        strategy.register_in_flight_request(RequestInfo(1, 1, now_s))
    assert strategy.delay_s(RequestInfo(1, 1, 20_001.0)) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "nothing is limited; give requests, records or size_in_bytes"),
        ({"requests": 0}, "requests = 0 must be larger than 0 and finite"),
        ({"records": float("inf")}, "records = inf must be larger than 0 and finite"),
        ({"size_in_bytes": float("nan")}, "size_in_bytes = nan must be larger than 0 and finite"),
        ({"requests": 1, "per_s": -1}, "per_s = -1 must be larger than 0 and finite"),
        ({"requests": 5, "burst": 6}, "burst = 6 must be larger than 0 and at most 5, all that may go in one window"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TokenBucketRateLimitingStrategy(**limits)


@settings(max_examples=60, deadline=None)
@given(
    most=st.integers(1, 60),
    per_s=st.sampled_from([0.25, 1.0, 3.0, 60.0]),
    burst_share=st.floats(0.01, 1.0),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    from_s=st.sampled_from([0.0, 0.1, 12345.678, 1e7]),
)
def test_no_window_ever_has_more_than_is_allowed_and_nothing_waits_for_ever(
    most: int, per_s: float, burst_share: float, sizes: list[int], from_s: float
) -> None:
    strategy = bucket(records=most, per_s=per_s, burst=max(1.0, most * burst_share))
    fitting = [min(size, most) for size in sizes]
    went = sent(strategy, iter([(size, 1) for size in fitting * 20]), float("inf"), from_s)
    assert len(went) == len(fitting) * 20
    assert most_in(went, per_s, at=1) <= most
