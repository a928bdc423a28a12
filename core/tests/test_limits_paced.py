"""The paced rate, against answers that are given to it."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.limits import PacedRateLimitingStrategy, RateLimit, RequestInfo, ResultInfo
from asyncsink.limits.paced import CUT, LOWEST_RATE, QUANTUM_S, Curve

LATENCY_S = 0.05


class Sender:
    """Sends whatever may go, in steps of 1 ms, to a destination that takes what `takes` says."""

    def __init__(self, **told: Any) -> None:
        self.strategy = PacedRateLimitingStrategy(**({"max_in_flight_requests": 50, "max_batch_size": 500} | told))
        self.now_s = 0.0
        self.under_way: list[tuple[float, RequestInfo, int]] = []
        self.sent = self.refused = self.requests = 0
        self._tokens = 0.0

    def run(self, for_s: float, per_s: float, *, requests_per_s: float | None = None) -> None:
        """Let time pass; the destination takes records at this rate, or requests, with 0.1 s of burst."""
        self.sent = self.refused = self.requests = 0
        rate = requests_per_s or per_s
        for _ in range(round(for_s * 1000)):
            self.now_s += 0.001
            self._tokens = min(self._tokens + rate * 0.001, max(1.0, rate * 0.1))
            self._end_due()
            while (info := self._next()) is not None:
                amount = 1 if requests_per_s else info.batch_size
                taken = self._tokens >= amount
                self._tokens -= amount if taken else 0
                self._send(info, 0 if taken else info.batch_size)

    def _next(self) -> RequestInfo | None:
        info = RequestInfo(self.strategy.max_batch_size, 100, self.now_s)
        return None if self.strategy.should_block(info) or self.strategy.delay_s(info) > 0 else info

    def _send(self, info: RequestInfo, throttled: int) -> None:
        self.strategy.register_in_flight_request(info)
        self.under_way.append((self.now_s + LATENCY_S, info, throttled))
        self.requests += 1
        self.sent += info.batch_size
        self.refused += throttled

    def _end_due(self) -> None:
        while self.under_way and self.under_way[0][0] <= self.now_s:
            _, info, throttled = self.under_way.pop(0)
            self.end(info, throttled, throttled)

    def end(self, info: RequestInfo, failed: int, throttled: int, *, ignored: bool = False) -> None:
        self.strategy.register_completed_request(
            ResultInfo(info.batch_size, 100, failed, throttled, info.now_s, self.now_s, None, ignored)
        )

    @property
    def accepted(self) -> int:
        return self.sent - self.refused


@pytest.mark.parametrize("per_s", [300, 10_000, 100_000])
def test_it_finds_the_rate_of_a_destination_and_is_seldom_throttled(per_s: int) -> None:
    sender = Sender()
    sender.run(10, per_s)
    sender.run(20, per_s)
    assert sender.accepted >= 0.93 * 20 * per_s
    assert sender.refused <= 0.03 * sender.sent


def test_it_is_at_twice_the_rate_five_seconds_after_capacity_has_doubled_and_at_half_one_second_after_a_fall() -> None:
    sender = Sender()
    sender.run(15, 10_000)
    sender.run(5, 20_000)
    sender.run(2, 20_000)
    assert sender.accepted >= 0.85 * 2 * 20_000
    sender.run(1, 5_000)
    sender.run(4, 5_000)
    assert sender.accepted >= 0.85 * 4 * 5_000
    assert sender.refused <= 0.15 * sender.sent


def test_until_the_first_throttle_only_the_window_holds_it_back_and_doubles_each_round_trip() -> None:
    sender = Sender(initial=10, ceiling=2000)
    assert sender.strategy.records_per_s is None
    sizes = []
    for _ in range(10):
        start = sender.sent
        sender.run(LATENCY_S, 1e9)
        sizes.append(sender.sent - start if start == 0 else sender.sent)
    assert sizes[:3] == [10, 20, 40]
    assert max(sizes) <= 2000
    assert sender.strategy.max_batch_size == 500


def test_a_destination_that_counts_requests_gets_larger_ones() -> None:
    sender = Sender()
    sender.run(40, 0, requests_per_s=20)
    sender.run(20, 0, requests_per_s=20)
    assert sender.accepted >= 0.5 * 20 * 500 * 20
    assert sender.sent / sender.requests > 200


def test_requests_go_evenly_and_hold_a_fiftieth_of_a_second() -> None:
    sender = Sender()
    sender.run(15, 10_000)
    rate = sender.strategy.records_per_s
    assert rate is not None
    assert sender.strategy.max_batch_size == pytest.approx(rate * QUANTUM_S, abs=1)
    sender.run(1, 10_000)
    assert sender.requests == pytest.approx(1 / QUANTUM_S, abs=6)


def test_a_source_with_little_to_send_does_not_let_the_rate_grow() -> None:
    sender = Sender()
    sender.run(10, 10_000)
    before = sender.strategy.records_per_s
    assert before is not None
    for _ in range(100):
        sender.now_s += 1.0
        info = RequestInfo(1, 100, sender.now_s)
        assert sender.strategy.delay_s(info) == 0
        sender.strategy.register_in_flight_request(info)
        sender.end(info, 0, 0)
    after = sender.strategy.records_per_s
    assert after is not None
    assert after <= 1.2 * before


def test_one_round_trip_is_throttled_once() -> None:
    sender = Sender()
    sender.run(10, 10_000)
    infos = [RequestInfo(10, 100, sender.now_s) for _ in range(5)]
    for each in infos:
        sender.strategy.register_in_flight_request(each)
    sender.now_s += LATENCY_S
    sender.end(infos[0], 10, 10)
    once = sender.strategy.records_per_s
    for each in infos[1:]:
        sender.end(each, 10, 10)
    assert sender.strategy.records_per_s == once


@pytest.mark.parametrize(("failed", "ignored"), [(3, False), (10, True)])
def test_failures_of_entries_and_what_is_ignored_say_nothing(failed: int, ignored: bool) -> None:
    sender = Sender()
    sender.run(10, 10_000)
    info = RequestInfo(10, 100, sender.now_s)
    sender.strategy.register_in_flight_request(info)
    before = sender.strategy.records_per_s
    sender.now_s += LATENCY_S
    sender.end(info, failed, 0, ignored=ignored)
    assert sender.strategy.records_per_s == before


def test_a_destination_that_takes_nothing_is_left_to_the_backoff() -> None:
    sender = Sender()
    for _ in range(3):
        info = RequestInfo(10, 100, sender.now_s)
        sender.strategy.register_in_flight_request(info)
        sender.end(info, 10, 0)
    assert sender.strategy.records_per_s is None
    sender.run(10, 10_000)
    sender.run(0.3, 0)
    before = sender.strategy.snapshot()
    sender.run(0.5, 0)
    assert sender.strategy.snapshot() == before


def test_after_an_outage_small_requests_go_until_one_is_stored_and_then_the_old_rate() -> None:
    sender = Sender()
    sender.run(10, 10_000)
    before, size = sender.strategy.records_per_s, sender.strategy.max_batch_size
    assert before is not None
    sender.run(5, 0)
    assert sender.strategy.max_batch_size == 1
    assert sender.requests < 500, "and not one for each record"
    sender.run(2, 10_000)
    after = sender.strategy.records_per_s
    assert after == pytest.approx(before, rel=0.15)
    assert sender.strategy.max_batch_size == pytest.approx(size, rel=0.15)
    sender.run(2, 10_000)
    assert sender.accepted >= 0.85 * 2 * 10_000


def test_a_destination_that_takes_only_small_requests_any_more_still_gets_some() -> None:
    sender = Sender()
    sender.run(10, 100_000)
    stored = 0
    for _ in range(20_000):
        sender.now_s += 0.001
        info = sender._next()
        if info is not None:
            sender.strategy.register_in_flight_request(info)
            throttled = info.batch_size if info.batch_size > 3 else 0
            stored += info.batch_size - throttled
            sender.end(info, throttled, throttled)
    assert stored > 20


def test_a_start_that_is_throttled_sends_less_at_once() -> None:
    strategy = Sender(initial=40).strategy
    for size in (40, 20, 10):
        assert strategy.max_batch_size == size
        strategy.register_in_flight_request(RequestInfo(size, 100, 0.0))
        strategy.register_completed_request(ResultInfo(size, 100, size, size, 0.0, 0.0, None))


def test_a_destination_that_asks_to_wait_long_is_provoked_seldom() -> None:
    sender = Sender()
    sender.run(10, 10_000)
    for _ in range(2):
        sender.run(0.5, 1e9)
        info = RequestInfo(10, 100, sender.now_s)
        sender.strategy.register_in_flight_request(info)
        sender.strategy.register_completed_request(ResultInfo(10, 100, 10, 10, info.now_s, sender.now_s, 1.0))
    cut = sender.strategy.records_per_s
    sender.run(10, 1e9)
    rate = sender.strategy.records_per_s
    assert cut is not None
    assert rate is not None
    assert rate <= cut / (1 - CUT), "15 s of rest, where else are 2 s"


def test_the_curve_starts_below_its_level_rests_at_it_and_doubles_within_five_seconds() -> None:
    curve = Curve(1000.0, 10.0, 2.0)
    assert curve.rate(10.0) == pytest.approx(1000 * (1 - CUT))
    assert curve.rate(12.0) == pytest.approx(1000)
    assert curve.rate(11.5) == pytest.approx(1000, rel=0.01)
    assert curve.rate(15.0) >= 2000
    assert Curve(0.0, 0.0, 2.0).level == LOWEST_RATE


def test_the_rate_learned_starts_a_successor() -> None:
    sender = Sender()
    sender.run(10, 10_000)
    snapshot = sender.strategy.snapshot()
    assert snapshot is not None
    successor = Sender()
    successor.strategy.seed([snapshot, b"congestion:5", b"nonsense"])
    successor.run(2, 10_000)
    assert successor.accepted >= 0.85 * 2 * 10_000
    assert successor.refused <= 0.05 * successor.sent
    assert Sender().strategy.snapshot() is None


def test_the_description_makes_it_from_the_configuration() -> None:
    config = AsyncSinkWriterConfig(max_batch_size=5, max_in_flight_requests=2, rate_limit=RateLimit.paced())
    strategy = config.rate_limit.make(config)
    assert isinstance(strategy, PacedRateLimitingStrategy)
    assert strategy.max_batch_size == 5
    with pytest.raises(ConfigurationError, match="factor"):
        RateLimit(kind="paced", factor=0.5)
    with pytest.raises(ValueError, match="initial"):
        PacedRateLimitingStrategy(1, initial=0)
