"""The part that writers share: when the next request of a scope may go. Time is an argument, so none passes here."""

from __future__ import annotations

import logging
from math import inf
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.config import AsyncSinkWriterConfig, RetryPolicy
from asyncsink.limits import RateLimit, RateLimitingStrategy, RequestInfo, ResultInfo
from asyncsink.limits.limiter import Limiter, LimiterCache
from asyncsink.limits.unlimited import NoRateLimitingStrategy

CONFIG = AsyncSinkWriterConfig(max_batch_size=10, max_in_flight_requests=2)
RETRY = RetryPolicy(initial_backoff_s=1.0, max_backoff_s=8.0, timeout_s=100.0, retry_after_cap_s=50.0)
BUSY = ConnectionError("busy")


class Longest(Random):
    """Jitter without luck: always the longest wait."""

    def uniform(self, a: float, b: float) -> float:
        return b


class Stubborn(RateLimitingStrategy):
    """Blocks everything, whatever is in flight; delays by what it is told."""

    def __init__(self, delay_s: float = 0.0, blocks: bool = True) -> None:
        self._delay_s, self._blocks = delay_s, blocks

    def register_in_flight_request(self, info: RequestInfo) -> None:
        return

    def register_completed_request(self, info: ResultInfo) -> None:
        return

    def should_block(self, info: RequestInfo) -> bool:
        return self._blocks

    @property
    def max_batch_size(self) -> int:
        return 10

    def delay_s(self, info: RequestInfo) -> float:
        return self._delay_s


def limiter(strategy: RateLimitingStrategy | None = None) -> Limiter:
    return Limiter(strategy or RateLimit.aimd().make(CONFIG), RETRY, Longest())


def request(size: int = 10, now_s: float = 0.0) -> RequestInfo:
    return RequestInfo(size, size, now_s)


def result(size: int = 10, failed: int = 0) -> ResultInfo:
    return ResultInfo(size, size, failed, 0, 0.0, 0.0, None)


def test_a_request_goes_until_the_strategy_blocks_and_again_after_an_answer() -> None:
    shared = limiter()
    for _ in range(2):
        assert shared.admits(request())
        shared.start(request())
    assert not shared.admits(request())
    shared.end(result())
    assert shared.admits(request())


def test_a_failure_holds_the_scope_back_for_its_backoff() -> None:
    shared = limiter()
    shared.back_off(shared.start(request()), 10.0, None, BUSY)
    assert not shared.admits(request(now_s=10.9))
    assert shared.admits(request(now_s=11.0))
    assert shared.unblocked_s(10.0) == 11.0


def test_backoff_doubles_with_each_round_up_to_its_bound() -> None:
    shared = limiter()
    waits: list[float] = []
    for _ in range(6):
        shared.back_off(shared.start(request()), 100.0 * len(waits), None, BUSY)
        waits.append(shared.not_before_s - 100.0 * len(waits))
    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_failures_of_one_round_count_once() -> None:
    shared = limiter()
    starts = [shared.start(request()) for _ in range(5)]
    for start in starts:
        shared.back_off(start, 0.0, None, BUSY)
    assert shared.not_before_s == 1.0
    shared.back_off(shared.start(request()), 0.0, None, BUSY)
    assert shared.not_before_s == 2.0


def test_an_answer_that_stores_something_ends_the_round() -> None:
    shared = limiter()
    for _ in range(3):
        shared.back_off(shared.start(request()), 0.0, None, BUSY)
    shared.succeed()
    assert shared.give_up_s == inf
    shared.back_off(shared.start(request()), 50.0, None, BUSY)
    assert shared.not_before_s == 51.0


@pytest.mark.parametrize(("asked", "until"), [(20.0, 20.0), (500.0, 50.0), (0.5, 1.0), (0.0, 1.0), (-3.0, 1.0)])
def test_retry_after_is_honoured_up_to_its_cap_and_never_shortens(asked: float, until: float) -> None:
    shared = limiter()
    shared.back_off(shared.start(request()), 0.0, asked, BUSY)
    assert shared.not_before_s == until


def test_retry_after_counts_even_for_a_failure_of_an_earlier_round() -> None:
    shared = limiter()
    first, second = shared.start(request()), shared.start(request())
    shared.back_off(first, 0.0, None, BUSY)
    shared.back_off(second, 0.0, 30.0, BUSY)
    assert shared.not_before_s == 30.0


def test_the_destinations_time_runs_from_its_first_failure() -> None:
    shared = limiter()
    assert shared.give_up_s == inf
    shared.back_off(shared.start(request()), 5.0, None, BUSY)
    shared.back_off(shared.start(request()), 60.0, None, TimeoutError())
    assert shared.give_up_s == 105.0
    assert isinstance(shared.last_failure, TimeoutError)


def test_a_throttle_beside_stored_entries_does_not_start_the_destinations_time() -> None:
    shared = limiter()
    shared.back_off(shared.start(request()), 5.0, None, None)
    assert shared.give_up_s == inf
    assert shared.not_before_s == 6.0


def test_the_end_of_the_destinations_time_is_waited_for_only_with_nothing_in_flight() -> None:
    shared = limiter()
    shared.back_off(shared.start(request()), 0.0, None, BUSY)
    assert shared.unblocked_s(2.0) == inf
    shared.end(result(failed=10))
    assert shared.unblocked_s(2.0) == 100.0


def test_a_new_writer_gives_an_idle_destination_its_whole_time_again() -> None:
    shared = limiter()
    shared.back_off(shared.start(request()), 0.0, None, BUSY)
    shared.reset_time()
    assert shared.give_up_s == 100.0
    shared.end(result(failed=10))
    shared.reset_time()
    assert shared.give_up_s == inf


def test_a_strategy_that_blocks_with_nothing_in_flight_is_overruled_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared = limiter(Stubborn())
    with caplog.at_level(logging.WARNING, "asyncsink.limits.limiter"):
        assert shared.admits(request())
        assert shared.admits(request())
    expected = "Stubborn blocks a request of 10 entries although nothing is in flight; it goes out anyway"
    assert caplog.messages == [expected]
    shared.start(request())
    assert not shared.admits(request())


def test_a_sealed_request_larger_than_the_budget_goes_alone_and_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared = limiter(Stubborn())
    with caplog.at_level(logging.WARNING, "asyncsink.limits.limiter"):
        assert shared.admits(request(11), sealed=True)
    assert caplog.messages == []


def test_a_delay_is_waited_for_even_with_nothing_in_flight() -> None:
    shared = limiter(Stubborn(delay_s=3.0, blocks=False))
    assert not shared.admits(request(now_s=7.0))
    assert shared.unblocked_s(7.0) == 10.0


def test_waking_calls_every_waiting_writer_once_but_the_one_that_wakes() -> None:
    shared = limiter()
    called: list[int] = []
    plans = [lambda number=number: called.append(number) for number in range(3)]
    for plan in plans:
        shared.wait(plan)
        shared.wait(plan)
    shared.leave(plans[2])
    shared.wake(plans[0])
    shared.wake(plans[0])
    assert called == [1]
    assert shared.waiting
    shared.wake(plans[2])
    assert called == [1, 0]
    assert not shared.waiting


@given(st.integers(1, 10_000), st.integers())
def test_jitter_is_within_its_bounds_however_often_it_failed(attempts: int, seed: int) -> None:
    shared = Limiter(RateLimit.aimd().make(CONFIG), RETRY, Random(seed))
    assert 0.0 <= shared.jitter_s(attempts) <= min(8.0, 2.0 ** min(attempts - 1, 10))


def test_no_backoff_at_all_means_none() -> None:
    retry = RetryPolicy(initial_backoff_s=0.0, max_backoff_s=30.0)
    shared = Limiter(RateLimit.aimd().make(CONFIG), retry)
    shared.back_off(shared.start(request()), 0.0, None, BUSY)
    assert shared.admits(request())


def test_writers_with_one_scope_and_configuration_share_a_limiter() -> None:
    cache = LimiterCache()
    first = cache.limiter("a", CONFIG)
    assert cache.limiter("a", AsyncSinkWriterConfig(max_batch_size=10, max_in_flight_requests=2)) is first
    assert cache.limiter("b", CONFIG) is not first
    assert cache.limiter("a", AsyncSinkWriterConfig()) is not first
    assert len(cache) == 3


class Talkative(NoRateLimitingStrategy):
    """What no type check has seen."""

    def snapshot(self) -> Any:
        return '{"limit": 1}'


def test_a_total_that_is_divided_anew_goes_on_in_the_same_window() -> None:
    cache, sent = LimiterCache(), 0
    for second in range(60):
        limit = RateLimit.fixed(requests=60, per_s=60.0, burst=60, writers=2 + second % 3)
        shared = cache.limiter(None, AsyncSinkWriterConfig(rate_limit=limit))
        info = RequestInfo(1, 1, float(second))
        while shared.admits(info) and sent < 100:
            shared.start(info)
            shared.end(ResultInfo(1, 1, 0, 0, info.now_s, info.now_s, None))
            sent += 1
    assert len(cache) == 1
    assert 15 <= sent <= 30


def test_a_snapshot_that_is_no_bytes_is_a_warning_and_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    limiter = Limiter(Talkative(), RETRY)
    assert [limiter.snapshot() for _ in range(2)] == [None, None]
    assert [record.message for record in caplog.records] == [
        "Talkative gives a str as its snapshot, which has to be bytes; it is not kept"
    ]


def test_beyond_its_bound_a_cache_forgets_the_idle_limiter_that_was_unused_longest() -> None:
    cache = LimiterCache(max_scopes=2)
    busy, idle = cache.limiter("busy", CONFIG), cache.limiter("idle", CONFIG)
    busy.start(request())
    cache.limiter("new", CONFIG)
    assert len(cache) == 2
    assert cache.limiter("busy", CONFIG) is busy
    assert cache.limiter("idle", CONFIG) is not idle


def test_what_a_custom_strategy_is_made_with_is_not_shown() -> None:
    limit = RateLimit.custom("package.module:Class", path="/x", token="s3cret")
    assert "s3cret" not in repr(limit)
    assert dict(limit.args) == {"path": "/x", "token": "s3cret"}


def test_a_cache_forgets_no_limiter_that_a_writer_belongs_to() -> None:
    cache, config = LimiterCache(max_scopes=2), AsyncSinkWriterConfig()
    kept = cache.limiter("a", config)
    kept.join(print, lambda limiter: None)
    for scope in "bcd":
        cache.limiter(scope, config)
    assert cache.limiter("a", config) is kept
