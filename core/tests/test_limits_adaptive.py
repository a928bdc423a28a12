"""The adaptive limit, against round trips that are given to it."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.limits import AdaptiveConcurrencyStrategy, RateLimit, RequestInfo, ResultInfo

WHOLE = {"failed": 0, "throttled": 0}
THROTTLED = {"failed": 10, "throttled": 10}
PARTLY_THROTTLED = {"failed": 3, "throttled": 1}
UNKNOWN = {"failed": 10, "throttled": 0}
SINGLE_FAILURES = {"failed": 9, "throttled": 0}


class Destination:
    """Answers round after round: as many requests as the limit lets go, each taking as long as is asked."""

    def __init__(self, strategy: AdaptiveConcurrencyStrategy, now_s: float = 0.0) -> None:
        self.strategy, self.now_s = strategy, now_s

    def round(self, latency_s: float, count: int | None = None, **ending: Any) -> int:
        """The limit after a round; `count` requests, or as many as may go."""
        strategy, start_s, info = self.strategy, self.now_s, RequestInfo(10, 1000, self.now_s)
        sent = 0
        while not strategy.should_block(info) and sent != count:
            strategy.register_in_flight_request(info)
            sent += 1
        self.now_s += latency_s
        for _ in range(sent):
            strategy.register_completed_request(
                ResultInfo(10, 1000, **{"request_start_s": start_s, "now_s": self.now_s, "retry_after_s": None}
                           | WHOLE | ending)
            )  # fmt: skip
        return strategy.limit


def strategy(most: int = 50, initial: int = 1, **changes: Any) -> AdaptiveConcurrencyStrategy:
    return AdaptiveConcurrencyStrategy(most, initial, **changes)


def test_it_adds_one_request_each_round_trip_while_none_is_slower() -> None:
    destination = Destination(strategy())
    assert [destination.round(0.1) for _ in range(6)] == [1, 2, 3, 4, 5, 6]


def test_equal_round_trips_are_equal_at_any_time_of_the_clock() -> None:
    destination = Destination(strategy(initial=7), now_s=86_400.123)
    assert [destination.round(0.1) for _ in range(5)] == [7, 8, 9, 10, 11]


def test_it_stops_at_its_ceiling() -> None:
    destination = Destination(strategy(3))
    assert [destination.round(0.1) for _ in range(6)] == [1, 2, 3, 3, 3, 3]


def test_a_limit_that_is_not_reached_does_not_grow() -> None:
    destination = Destination(strategy(initial=10))
    assert [destination.round(0.1, count=5) for _ in range(4)] == [10, 10, 10, 10]


def test_a_round_trip_that_grows_beyond_its_deviation_shrinks_the_limit() -> None:
    destination = Destination(strategy(initial=20))
    for _ in range(4):
        destination.round(0.1)
    assert destination.round(0.2) == 20, "23 times 0.9"


def test_a_round_trip_within_its_deviation_changes_nothing() -> None:
    destination = Destination(strategy(initial=20))
    for latency_s in (0.1, 0.14, 0.1, 0.14, 0.1):
        limit = destination.round(latency_s)
    assert destination.round(0.13) == limit


@pytest.mark.parametrize("ending", [THROTTLED, PARTLY_THROTTLED, UNKNOWN])
def test_a_drop_shrinks_the_limit_even_if_nothing_was_ever_stored(ending: dict[str, int]) -> None:
    destination = Destination(strategy(initial=20))
    assert destination.round(0.1, **ending) == 18
    assert destination.round(0.1, **ending) == 16


def test_the_drops_of_one_round_count_once() -> None:
    destination = Destination(strategy(initial=20))
    destination.round(0.1)
    assert destination.round(0.1, **THROTTLED) == 18


@pytest.mark.parametrize("ending", [SINGLE_FAILURES, {"failed": 10, "throttled": 10, "ignored": True}])
def test_what_says_nothing_about_load_gives_back_and_teaches_nothing(ending: dict[str, Any]) -> None:
    destination = Destination(strategy(initial=20))
    before = destination.round(0.1)
    assert destination.round(9.0, **ending) == before
    assert destination.round(0.1) == before + 1, "its 9 s were not taken into the mean"


def test_it_never_falls_below_one_and_comes_back() -> None:
    destination = Destination(strategy(initial=5))
    for _ in range(20):
        destination.round(0.1, **THROTTLED)
    assert destination.strategy.limit == 1
    assert [destination.round(0.1) for _ in range(4)][-1] == 4


def test_what_was_learned_seeds_a_successor_up_to_its_ceiling() -> None:
    learned = strategy(initial=40).snapshot()
    assert learned == b"adaptive:40"
    successor, smaller = strategy(), strategy(10)
    for each in (successor, smaller):
        each.seed([learned, b"congestion:3", b"adaptive:x", b""])
    assert (successor.limit, smaller.limit) == (40, 10)


def test_a_description_sets_start_ceiling_and_factor() -> None:
    config = AsyncSinkWriterConfig(max_in_flight_requests=30, max_batch_size=70)
    made: Any = RateLimit.adaptive().make(config)
    assert (made.limit, made.max_batch_size) == (1, 70)
    for limit, expected in ((RateLimit.adaptive(initial=99), 30), (RateLimit.adaptive(initial=9, ceiling=5), 5)):
        bounded: Any = limit.make(config)
        assert bounded.limit == expected
    halving: Any = RateLimit.adaptive(initial=8, factor=0.5).make(config)
    assert Destination(halving).round(0.1, **THROTTLED) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"initial": 0}, "initial = 0 must lie between 1 and max_in_flight_requests"),
        ({"initial": 51}, "initial = 51 must lie between 1 and max_in_flight_requests"),
        ({"ratio": 1.0}, "ratio = 1.0 must lie between 0 and 1"),
        ({"alpha": 0.0}, "alpha = 0.0 must be larger than 0 and at most 1"),
        ({"deviations": -1.0}, "deviations = -1.0 must be at least 0"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        strategy(**changes)
