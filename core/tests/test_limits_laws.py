"""What holds for every strategy that is shipped, whatever it is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.limits import (
    AIMDScalingStrategy,
    CongestionControlRateLimitingStrategy,
    RateLimit,
    RateLimitingStrategy,
    RequestInfo,
    ResultInfo,
    ThresholdScalingStrategy,
)

CONFIG = AsyncSinkWriterConfig(max_batch_size=40, max_in_flight_requests=6)


class Careful(CongestionControlRateLimitingStrategy):
    """FLIP-242's "when" in a class of a user's."""

    def __init__(self) -> None:
        scaling = ThresholdScalingStrategy(AIMDScalingStrategy(240), failure_share=0.2, successes=3, within_s=4.0)
        super().__init__(6, 40, 240, scaling)


LIMITS = {
    "aimd": RateLimit.aimd(),
    "requests": RateLimit.aimd(unit="requests", increase=2),
    "bytes": RateLimit.aimd(unit="bytes", ceiling=90_000),
    "flink": RateLimit.flink(factor=0.99),
    "threshold": RateLimit.custom(f"{__name__}:Careful"),
    "paced": RateLimit.paced(),
    "adaptive": RateLimit.adaptive(),
    "fixed": RateLimit.fixed(requests=9, records=200, size_in_bytes=50_000, per_s=2.0, burst=3),
    "none": RateLimit.none(),
}

SIZES = st.tuples(st.integers(1, 60), st.integers(0, 20_000))
ENDINGS = st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.sampled_from([None, 0.0, 3.0]))
SEEDS = st.binary(max_size=40) | st.from_regex(rb"(congestion(-bytes|-requests)?|adaptive):[0-9]*")
STEPS = st.lists(st.tuples(st.booleans(), st.floats(0, 5), SIZES, ENDINGS), max_size=60)


def play(strategy: RateLimitingStrategy, steps: list[Any]) -> list[Any]:
    """Start and end requests as `steps` say, whatever the strategy answers, and end the rest; all its answers."""
    now_s, open_requests, said = 0.0, list[RequestInfo](), list[Any]()
    drain: list[Any] = [(False, 0.5, (1, 1), (0.0, 0.0, False, None))] * len(steps)
    for starts, pause_s, (batch_size, size), (failed, throttled, ignored, retry_after_s) in [*steps, *drain]:
        now_s += pause_s
        if starts:
            info = RequestInfo(batch_size, size, now_s)
            said.append((strategy.delay_s(info), strategy.should_block(info)))
            strategy.register_in_flight_request(info)
            open_requests.append(info)
        elif open_requests:
            over = open_requests.pop(0)
            lost = round(failed * over.batch_size)
            result = ResultInfo(
                over.batch_size, over.size_in_bytes, lost, round(throttled * lost), over.now_s, now_s, retry_after_s,
                ignored,
            )  # fmt: skip
            strategy.register_completed_request(result)
        said.append((strategy.max_batch_size, strategy.snapshot()))
    assert not open_requests
    return said


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_what_is_held_returns_to_zero_and_every_bound_is_kept(name: str, steps: list[Any]) -> None:
    strategy: Any = LIMITS[name].make(CONFIG)
    # What `paced` learns is a rate, which has no ceiling: its own is that of the window before it.
    ceiling = 10**9 if name == "paced" else getattr(strategy, "_ceiling", 10**9)
    for answer in play(strategy, steps):
        if isinstance(answer[0], float):
            assert answer[0] >= 0.0
            continue
        most, snapshot = answer
        assert most >= 1
        assert snapshot is None or 1 <= int(snapshot.partition(b":")[2]) <= ceiling
    assert getattr(strategy, "_requests", 0) == 0 or name == "fixed"
    assert getattr(strategy, "_held", 0) == 0
    assert not strategy.should_block(RequestInfo(1, 1, 10**6)), "an idle strategy lets a request go"
    assert strategy.delay_s(RequestInfo(1, 1, 10**6)) == 0.0


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_the_same_infos_get_the_same_answers(name: str, steps: list[Any]) -> None:
    assert play(LIMITS[name].make(CONFIG), steps) == play(LIMITS[name].make(CONFIG), steps)


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=40, deadline=None)
@given(snapshots=st.lists(SEEDS, max_size=6))
def test_no_seed_leads_out_of_bounds(name: str, snapshots: list[bytes]) -> None:
    strategy: Any = LIMITS[name].make(CONFIG)
    strategy.seed(snapshots)
    assert strategy.max_batch_size >= 1
    assert not strategy.should_block(RequestInfo(1, 1, 0.0))
    learned = strategy.snapshot()
    assert learned is None or 1 <= int(learned.partition(b":")[2]) <= strategy._ceiling


@pytest.mark.parametrize("name", LIMITS)
def test_a_strategy_has_no_room_for_what_it_does_not_declare(name: str) -> None:
    kind = type(LIMITS[name].make(CONFIG))
    assert name == "threshold" or "__slots__" in kind.__dict__
