"""Descriptions of rate limits: what they make, and what they refuse in which words."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from typing import Any

import pytest

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.limits import NoRateLimitingStrategy, RateLimit, RequestInfo, ResultInfo

CONFIG = AsyncSinkWriterConfig(max_batch_size=100)
HERE = __name__
ODD: Any = "odd"
NOTHING: Any = None


class Mine(NoRateLimitingStrategy):
    def __init__(self, gain: int = 1, names: tuple[str, ...] = ()) -> None:
        if gain < 0:
            raise ValueError("gain must not be negative")
        super().__init__(gain)


class NoStrategy:
    pass


KINDS = [
    RateLimit.aimd(),
    RateLimit.aimd(unit="bytes"),
    RateLimit.flink(),
    RateLimit.adaptive(),
    RateLimit.fixed(requests=500, per_s=60, burst=5, writers=2),
    RateLimit.none(),
    RateLimit.custom(f"{HERE}:Mine", gain=4),
]


@pytest.mark.parametrize("description", KINDS, ids=lambda each: each.kind)
def test_every_description_survives_pickling_and_is_a_key(description: RateLimit) -> None:
    copy = pickle.loads(pickle.dumps(description))
    assert copy == description
    assert len({copy, description}) == 1
    assert type(copy.make(CONFIG)) is type(description.make(CONFIG))


def test_none_holds_nothing_back() -> None:
    strategy = RateLimit.none().make(CONFIG)
    for _ in range(1000):
        strategy.register_in_flight_request(RequestInfo(100, 10**9, 0.0))
    strategy.register_completed_request(ResultInfo(100, 10**9, 100, 100, 0.0, 1.0, 9.0))
    assert not strategy.should_block(RequestInfo(100, 10**9, 0.0))
    assert strategy.delay_s(RequestInfo(100, 10**9, 0.0)) == 0.0
    assert strategy.max_batch_size == CONFIG.max_batch_size
    assert strategy.snapshot() is None


def test_each_writer_gets_its_part_of_a_total_rate() -> None:
    shared = RateLimit.fixed(requests=10, records=100, burst=4, writers=2).make(CONFIG)
    alone = RateLimit.fixed(requests=5, records=50, burst=2).make(CONFIG)
    assert shared.max_batch_size == alone.max_batch_size == 16
    for strategy in (shared, alone):
        for _ in range(2):
            assert strategy.delay_s(RequestInfo(1, 1, 0.0)) == 0.0
            strategy.register_in_flight_request(RequestInfo(1, 1, 0.0))
        assert strategy.delay_s(RequestInfo(1, 1, 0.0)) == pytest.approx(0.2)


def test_a_part_smaller_than_one_request_still_lets_one_go() -> None:
    strategy = RateLimit.fixed(requests=10, burst=1, writers=40).make(CONFIG)
    assert strategy.delay_s(RequestInfo(1, 1, 0.0)) == 0.0
    strategy.register_in_flight_request(RequestInfo(1, 1, 0.0))
    assert strategy.delay_s(RequestInfo(1, 1, 0.0)) == pytest.approx(4.0)


def test_a_strategy_of_ones_own_gets_its_arguments_and_is_made_anew_for_each_scope() -> None:
    description = RateLimit.custom(f"{HERE}:Mine", gain=4, names=("a",))
    one, two = description.make(CONFIG), description.make(CONFIG)
    assert isinstance(one, Mine)
    assert one.max_batch_size == 4
    assert one is not two


def test_the_order_of_arguments_makes_no_other_limit() -> None:
    assert RateLimit.custom("a:B", x=1, y=2) == RateLimit.custom("a:B", y=2, x=1)


@pytest.mark.parametrize(
    ("path", "args", "message"),
    [
        (
            "no.such.module:Mine",
            {},
            "'no.such.module:Mine' failed to import: ModuleNotFoundError: No module named 'no'",
        ),
        ("no.such.module:Mine", {}, "; install or mend it where the writers run, which is on the workers under Spark"),
        (f"{HERE}:Yours", {}, f"module '{HERE}' has no 'Yours', which '{HERE}:Yours' names; install or mend it"),
        (f"{HERE}:NoStrategy", {}, "no subclass of RateLimitingStrategy; derive the class from asyncsink.RateLimiting"),
        (f"{HERE}:KINDS", {}, "is no subclass of RateLimitingStrategy"),
        (f"{HERE}:Mine", {"loss": 3}, "refuses its arguments (given: loss): TypeError: "),
        (f"{HERE}:Mine", {"gain": -1}, "refuses its arguments (given: gain): ValueError: gain must not be negative; "),
        ("asyncsink.limits:RateLimitingStrategy", {}, "refuses its arguments (given: none): TypeError: Can't "),
    ],
)
def test_a_class_that_will_not_do_is_told_with_path_and_remedy(path: str, args: dict[str, Any], message: str) -> None:
    description = RateLimit.custom(path, **args)
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        description.make(CONFIG)
    assert path in str(caught.value)


@pytest.mark.parametrize("path", ["Mine", "my.module", "my-module:Mine", "my.module:", ":Mine", 3])
def test_a_path_that_names_nothing_is_refused_at_once(path: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is no import path; write it as 'package\.module:Class'"):
        RateLimit.custom(path)


def test_arguments_that_cannot_be_compared_are_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"argument 'names' is of type list, which has no hash; .* a tuple"):
        RateLimit.custom(f"{HERE}:Mine", names=["a"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RateLimit.fixed(), "rate_limit nothing is limited; give requests, records or size_in_bytes"),
        (lambda: RateLimit.fixed(requests=0), "rate_limit requests = 0 must be larger than 0 and finite"),
        (lambda: RateLimit.fixed(requests=ODD), "rate_limit requests = 'odd' must be a number"),
        (lambda: RateLimit.fixed(requests=True), "rate_limit requests = True must be a number"),
        (lambda: RateLimit.fixed(requests=5, per_s=NOTHING), "rate_limit per_s = None must be a number"),
        (
            lambda: RateLimit.fixed(requests=5, writers=0),
            "rate_limit writers = 0 must be a whole number of at least 1 w",
        ),
        (lambda: RateLimit.fixed(requests=5, burst=9), "rate_limit burst = 9 must be larger than 0 and at most 5, all"),
        (lambda: RateLimit.adaptive(initial=0), "rate_limit initial = 0 must be a whole number of at least 1 request"),
        (lambda: RateLimit.adaptive(factor=2.0), "rate_limit factor = 2.0 must be a number between 0 and 1"),
        (lambda: replace(RateLimit.none(), writers=2), "rate_limit writers = 2 says nothing to kind 'none'; leave it"),
    ],
)
def test_what_breaks_a_rule_is_told_by_its_name(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        make()
