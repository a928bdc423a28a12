"""Upstream's arithmetic (AIMDScalingStrategy, CongestionControlRateLimitingStrategy), and what is ours."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.limits import (
    AIMDScalingStrategy,
    CongestionControlRateLimitingStrategy,
    RateLimit,
    RateLimitingStrategy,
    RequestInfo,
    ResultInfo,
)

DEFAULTS = AsyncSinkWriterConfig()


def request(size: int) -> RequestInfo:
    return RequestInfo(size, size * 100, 0.0)


def result(size: int, failed: int = 0) -> ResultInfo:
    return ResultInfo(size, size * 100, failed, 0, 0.0, 1.0, None)


def settle(strategy: RateLimitingStrategy, size: int, failed: int = 0) -> None:
    strategy.register_in_flight_request(request(size))
    strategy.register_completed_request(result(size, failed))


def budget(strategy: RateLimitingStrategy) -> int:
    return strategy.max_batch_size


@pytest.mark.parametrize(("current", "expected"), [(5, 3), (7, 4), (3, 2), (2, 1), (1, 1), (0, 1), (500, 250)])
def test_halves_are_rounded_up(current: int, expected: int) -> None:
    assert AIMDScalingStrategy(1000).scale_down(current) == expected


def test_kinesis_factor_never_throttles_below_50() -> None:
    scaling = AIMDScalingStrategy(25_000, 10, 0.99)
    assert scaling.scale_down(50) == 50
    assert scaling.scale_down(51) == 50


def test_kinesis_factor_takes_218_failures_from_500_to_its_floor() -> None:
    scaling, current, failures = AIMDScalingStrategy(25_000, 10, 0.99), 500, 0
    while current > 50:
        current, failures = scaling.scale_down(current), failures + 1
    assert failures == 218


def test_a_success_adds_and_stops_at_the_ceiling() -> None:
    scaling = AIMDScalingStrategy(25, 10)
    assert [scaling.scale_up(each) for each in (1, 15, 16, 25)] == [11, 25, 25, 25]


@given(st.integers(1, 10**6), st.floats(0.01, 0.99))
def test_scaling_down_stays_between_1_and_where_it_was(current: int, factor: float) -> None:
    assert 1 <= AIMDScalingStrategy(10**6, 10, factor).scale_down(current) <= current


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((100, 0), "increase = 0 must be larger than 0"),
        ((5, 10), "ceiling = 5 must be at least increase = 10"),
        ((100, 10, 1.0), "factor = 1.0 must lie between 0 and 1"),
        ((100, 10, 0.0), "factor = 0.0 must lie between 0 and 1"),
    ],
)
def test_scaling_refuses_what_upstream_refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AIMDScalingStrategy(*arguments)


def test_flink_starts_with_one_batch_and_sends_a_second_one_after_50_successes() -> None:
    strategy = RateLimit.flink().make(DEFAULTS)
    assert budget(strategy) == 500
    for successes in range(50):
        strategy.register_in_flight_request(request(500))
        assert strategy.should_block(request(500)), successes
        strategy.register_completed_request(result(500))
    strategy.register_in_flight_request(request(500))
    assert not strategy.should_block(request(500))
    assert budget(strategy) == 1000


def test_flink_reaches_its_ceiling_after_2450_successes() -> None:
    strategy = RateLimit.flink().make(DEFAULTS)
    for _ in range(2449):
        settle(strategy, 500)
    assert budget(strategy) == 24_990
    settle(strategy, 500)
    settle(strategy, 500)
    assert budget(strategy) == 25_000


def test_flink_with_kinesis_factor_grows_to_a_thousand_with_half_of_all_requests_failing() -> None:
    strategy = RateLimit.flink(factor=0.99).make(DEFAULTS)
    for _ in range(2000):
        settle(strategy, 500)
        settle(strategy, 500, failed=500)
    assert 900 <= budget(strategy) <= 1000


def test_one_failed_entry_weighs_as_much_as_all_of_them() -> None:
    one, all_ = RateLimit.aimd().make(DEFAULTS), RateLimit.aimd().make(DEFAULTS)
    settle(one, 500, failed=1)
    settle(all_, 500, failed=500)
    assert budget(one) == budget(all_) == 12_500


def test_a_success_of_one_entry_earns_as_much_as_one_of_500() -> None:
    one, full = RateLimit.flink().make(DEFAULTS), RateLimit.flink().make(DEFAULTS)
    settle(one, 1)
    settle(full, 500)
    assert budget(one) == budget(full) == 510


def test_aimd_has_all_its_concurrency_from_the_first_second() -> None:
    strategy = RateLimit.aimd().make(DEFAULTS)
    for _ in range(50):
        assert not strategy.should_block(request(500))
        strategy.register_in_flight_request(request(500))
    assert strategy.should_block(request(1))


def test_requests_are_bounded_apart_from_records() -> None:
    strategy = RateLimit.aimd().make(AsyncSinkWriterConfig(max_in_flight_requests=2))
    strategy.register_in_flight_request(request(1))
    assert not strategy.should_block(request(1))
    strategy.register_in_flight_request(request(1))
    assert strategy.should_block(request(1))
    strategy.register_completed_request(result(1))
    assert not strategy.should_block(request(1))


def test_a_request_that_fills_the_budget_exactly_may_go() -> None:
    strategy = CongestionControlRateLimitingStrategy(10, 100, 100, AIMDScalingStrategy(100))
    strategy.register_in_flight_request(request(60))
    assert not strategy.should_block(request(40))
    assert strategy.should_block(request(41))


def test_without_reason_of_its_own_a_strategy_never_delays() -> None:
    assert RateLimit.aimd().make(DEFAULTS).delay_s(request(1)) == 0.0


def test_an_ending_that_says_nothing_about_load_gives_back_and_moves_nothing() -> None:
    strategy = RateLimit.aimd(initial=40).make(DEFAULTS)
    for failed in (0, 40):
        strategy.register_in_flight_request(request(40))
        assert strategy.should_block(request(1))
        strategy.register_completed_request(result(40, failed)._replace(ignored=True))
        assert not strategy.should_block(request(40))
        assert budget(strategy) == 40


def test_a_successor_starts_from_the_mean_of_what_was_learned() -> None:
    strategy = RateLimit.aimd().make(DEFAULTS)
    strategy.seed([b"congestion:100", b"congestion:300", b"something else", b"congestion:x"])
    assert budget(strategy) == 200


def test_a_snapshot_seeds_a_successor_up_to_its_own_ceiling() -> None:
    learned = RateLimit.aimd().make(DEFAULTS).snapshot()
    assert learned == b"congestion:25000"
    smaller = RateLimit.aimd().make(AsyncSinkWriterConfig(max_batch_size=10, max_in_flight_requests=2))
    smaller.seed([learned])
    assert budget(smaller) == 20


@pytest.mark.parametrize("snapshots", [[], [b""], [b"congestion:"], [b"congestion:-5"], [b"bucket:7"]])
def test_snapshots_that_say_nothing_are_ignored(snapshots: list[bytes]) -> None:
    strategy = RateLimit.aimd().make(DEFAULTS)
    strategy.seed(snapshots)
    assert budget(strategy) == 25_000


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), max_size=60))
def test_the_budget_stays_within_its_bounds_whatever_happens(answers: list[tuple[int, bool]]) -> None:
    strategy = RateLimit.aimd(ceiling=100).make(DEFAULTS)
    for size, good in answers:
        settle(strategy, size, failed=0 if good else size)
        assert 1 <= budget(strategy) <= 100


def test_a_description_sets_start_ceiling_increase_and_factor() -> None:
    strategy = RateLimit.aimd(initial=40, ceiling=60, increase=15, factor=0.25).make(DEFAULTS)
    assert budget(strategy) == 40
    settle(strategy, 1)
    assert budget(strategy) == 55
    settle(strategy, 1)
    assert budget(strategy) == 60
    settle(strategy, 1, failed=1)
    assert budget(strategy) == 15


def test_a_description_smaller_than_its_increase_still_makes_a_strategy() -> None:
    strategy = RateLimit.aimd().make(AsyncSinkWriterConfig(max_batch_size=1, max_in_flight_requests=1))
    assert budget(strategy) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"initial": 0}, "rate_limit initial = 0 must be a whole number of at least 1 record"),
        ({"ceiling": 1.5}, "rate_limit ceiling = 1.5 must be a whole number of at least 1 record"),
        ({"increase": True}, "rate_limit increase = True must be a whole number of at least 1 record"),
        ({"factor": 1.0}, "rate_limit factor = 1.0 must be a number between 0 and 1"),
        ({"factor": 1}, "rate_limit factor = 1 must be a number between 0 and 1"),
        ({"factor": float("nan")}, "rate_limit factor = nan must be a number between 0 and 1"),
        ({"kind": "clever"}, "rate_limit kind 'clever' is not known; use 'aimd' or 'flink'"),
        ({"unit": "rows"}, "rate_limit unit = 'rows' must be 'records', 'requests' or 'bytes'"),
        ({"unit": "bytes", "initial": 0}, "rate_limit initial = 0 must be a whole number of at least 1 byte"),
        ({"burst": 5}, "rate_limit burst = 5 says nothing to kind 'aimd'; leave it out or use another kind"),
    ],
)
def test_a_description_refuses_what_breaks_its_rules(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RateLimit(**{"kind": "aimd", **values})


def test_descriptions_survive_pickling() -> None:
    description = RateLimit.aimd(initial=5, factor=0.9)
    assert pickle.loads(pickle.dumps(description)) == description
