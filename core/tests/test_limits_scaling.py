"""When and how much a budget moves, and what it counts."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.limits import (
    AIMDScalingStrategy,
    CongestionControlRateLimitingStrategy,
    NoOpScalingStrategy,
    RateLimit,
    RequestInfo,
    ResultInfo,
    ScalingStrategy,
    ThresholdScalingStrategy,
)

CONFIG = AsyncSinkWriterConfig(max_in_flight_requests=8)


def ended(now_s: float, failed: int = 0, size: int = 10) -> ResultInfo:
    return ResultInfo(size, size * 100, failed, 0, now_s - 0.1, now_s, None)


def threshold(**changes: Any) -> ThresholdScalingStrategy:
    given = {"failure_share": 0.25, "window_s": 10.0, "successes": 3, "within_s": 5.0}
    return ThresholdScalingStrategy(AIMDScalingStrategy(1000), **(given | changes))


def test_no_op_leaves_the_budget_alone() -> None:
    scaling: ScalingStrategy = NoOpScalingStrategy()
    assert scaling.scale_up(7, ended(1.0)) == scaling.scale_down(7, ended(1.0, failed=3)) == 7


def test_it_takes_so_many_successes_in_so_short_a_time_to_scale_up() -> None:
    scaling = threshold()
    assert [scaling.scale_up(100, ended(at)) for at in (0.0, 1.0, 5.0)] == [100, 100, 110]
    late = threshold()
    assert [late.scale_up(100, ended(at)) for at in (0.0, 1.0, 5.1, 5.9)] == [100, 100, 100, 110]


def test_successes_count_once() -> None:
    scaling = threshold()
    assert [scaling.scale_up(100, ended(at)) for at in (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)] == [100, 100, 110] * 2


def test_failures_scale_down_only_above_their_share_of_what_has_ended() -> None:
    scaling = threshold()
    for at in (0.0, 1.0, 2.0):
        scaling.scale_up(100, ended(at))
    assert scaling.scale_down(100, ended(3.0, failed=10)) == 100, "10 of 40 entries are a quarter, not more"
    assert scaling.scale_down(100, ended(4.0, failed=4)) == 50, "14 of 50 are more"


def test_what_ended_before_the_window_is_forgotten() -> None:
    scaling = threshold()
    for at in (0.0, 1.0, 2.0):
        scaling.scale_up(100, ended(at))
    assert scaling.scale_down(100, ended(11.5, failed=3)) == 100, "3 of 20: one success is still within it"
    assert scaling.scale_down(100, ended(12.5, failed=3)) == 50, "6 of 20"


def test_failures_before_the_window_are_forgotten_too() -> None:
    scaling = threshold()
    assert scaling.scale_down(100, ended(0.0, failed=10)) == 50
    for at in (11.0, 12.0):
        scaling.scale_up(100, ended(at))
    assert scaling.scale_down(100, ended(13.0, failed=5)) == 100, "5 of 30"


def test_how_much_is_the_inner_ones_answer() -> None:
    scaling = ThresholdScalingStrategy(AIMDScalingStrategy(1000, 7, 0.9), failure_share=0.0, successes=1)
    assert scaling.scale_up(100, ended(0.0)) == 107
    assert scaling.scale_down(100, ended(0.0, failed=1)) == 90


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"failure_share": 1.0}, "failure_share = 1.0 must be at least 0 and below 1"),
        ({"failure_share": float("nan")}, "failure_share = nan must be at least 0 and below 1"),
        ({"successes": 0}, "successes = 0 must be at least 1"),
        ({"window_s": 0.0}, "window_s = 0.0 must be larger than 0"),
        ({"within_s": -1.0}, "within_s = -1.0 must be larger than 0"),
    ],
)
def test_thresholds_that_cannot_be_meant_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        threshold(**changes)


def test_a_budget_of_requests_counts_requests_and_leaves_batches_whole() -> None:
    strategy = RateLimit.aimd(unit="requests", initial=2).make(CONFIG)
    assert strategy.max_batch_size == CONFIG.max_batch_size
    strategy.register_in_flight_request(RequestInfo(500, 10**6, 0.0))
    assert not strategy.should_block(RequestInfo(500, 10**6, 0.0))
    strategy.register_in_flight_request(RequestInfo(1, 1, 0.0))
    assert strategy.should_block(RequestInfo(1, 1, 0.0))
    strategy.register_completed_request(ended(1.0))
    strategy.register_in_flight_request(RequestInfo(1, 1, 1.0))
    assert not strategy.should_block(RequestInfo(1, 1, 1.0)), "a success has made it three"
    assert strategy.snapshot() == b"congestion-requests:3"
    assert strategy.max_batch_size == CONFIG.max_batch_size


def test_a_budget_of_requests_halves_to_one_and_never_to_none() -> None:
    strategy = RateLimit.aimd(unit="requests").make(CONFIG)
    for _ in range(5):
        strategy.register_in_flight_request(RequestInfo(10, 1000, 0.0))
        strategy.register_completed_request(ended(1.0, failed=1))
    assert strategy.snapshot() == b"congestion-requests:1"
    assert not strategy.should_block(RequestInfo(10, 1000, 0.0))


def test_a_budget_of_bytes_counts_bytes() -> None:
    strategy = RateLimit.aimd(unit="bytes", initial=5000).make(CONFIG)
    strategy.register_in_flight_request(RequestInfo(1, 3000, 0.0))
    assert not strategy.should_block(RequestInfo(500, 2000, 0.0))
    assert strategy.should_block(RequestInfo(1, 2001, 0.0))


def test_a_budget_of_bytes_cuts_batches_by_the_size_that_entries_have_had() -> None:
    strategy = RateLimit.aimd(unit="bytes", initial=4000, increase=100).make(CONFIG)
    assert strategy.max_batch_size == CONFIG.max_batch_size
    strategy.register_in_flight_request(RequestInfo(10, 1000, 0.0))
    strategy.register_completed_request(ended(1.0))
    assert strategy.max_batch_size == 41, "4100 bytes of entries of 100"


def test_a_request_larger_than_the_whole_budget_goes_alone() -> None:
    strategy = RateLimit.aimd(unit="bytes", initial=100).make(CONFIG)
    assert not strategy.should_block(RequestInfo(1, 5000, 0.0))
    strategy.register_in_flight_request(RequestInfo(1, 1, 0.0))
    assert strategy.should_block(RequestInfo(1, 5000, 0.0))


def test_defaults_are_full_batches_in_every_unit() -> None:
    assert RateLimit.aimd().make(CONFIG).snapshot() == b"congestion:4000"
    assert RateLimit.aimd(unit="requests").make(CONFIG).snapshot() == b"congestion-requests:8"
    assert RateLimit.aimd(unit="bytes").make(CONFIG).snapshot() == b"congestion-bytes:%d" % (8 * 5 * 1024 * 1024)


def test_a_budget_of_one_unit_says_nothing_of_another() -> None:
    strategy = RateLimit.aimd(unit="requests").make(CONFIG)
    strategy.seed([b"congestion:3", b"congestion-bytes:3"])
    assert strategy.snapshot() == b"congestion-requests:8"
    strategy.seed([b"congestion-requests:3", b"congestion-requests:5", b"congestion-requests:" + b"9" * 5000])
    assert strategy.snapshot() == b"congestion-requests:4"


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="unit = 'rows' must be 'records', 'requests' or 'bytes'"):
        CongestionControlRateLimitingStrategy(1, 1, 1, NoOpScalingStrategy(), "rows")  # type: ignore[arg-type]


@pytest.mark.parametrize(("answer", "expected"), [(0, 1), (-5, 1), (10**9, 50)])
def test_a_scaling_strategy_of_ones_own_cannot_leave_the_bounds(answer: int, expected: int) -> None:
    class Wild:
        def scale_up(self, current: int, result: ResultInfo) -> int:
            return answer

        scale_down = scale_up

    strategy = CongestionControlRateLimitingStrategy(8, 50, 50, Wild())
    for failed in (0, 1):
        strategy.register_in_flight_request(RequestInfo(10, 1000, 0.0))
        strategy.register_completed_request(ended(1.0, failed))
        assert strategy.max_batch_size == expected
