"""A limit of the requests in flight that listens to how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

from asyncsink.limits.hints import hint, learned
from asyncsink.limits.strategy import UNBOUNDED, RateLimitingStrategy, RequestInfo, ResultInfo


class AdaptiveConcurrencyStrategy(RateLimitingStrategy):
    """Finds the concurrency at which the destination is busy and not yet slow, after Vector's adaptive concurrency.

    Once per round trip the mean of the round trips since is held against an exponentially weighted mean of all before
    and its deviation. One more request may be in flight if the limit was reached, nothing was dropped and the round
    trip has not grown; the limit shrinks by `ratio` if something was dropped or the round trip has grown by more than
    `deviations` standard deviations.

    What is heard of a request: a *success*, if all its entries were stored, is a round trip to learn from; a *drop*, if
    entries were throttled or nothing is known of any of them, is pressure; failures of single entries, and what is
    `ignored`, say nothing. A request whose entries all failed each by itself counts as a drop: it looks the same.

    :param max_in_flight_requests: the largest limit
    :param initial: the limit at the start, in requests
    :param ratio: what remains of the limit under pressure, above 0 and below 1
    :param alpha: the weight of the last round trip in the mean, above 0 and at most 1
    :param deviations: how many standard deviations a round trip may grow by
    :param max_batch_size: the most entries a request
    :raises ValueError: a parameter is outside these bounds
    """

    __slots__ = (
        "_alpha",
        "_ceiling",
        "_count",
        "_deviations",
        "_dropped",
        "_limit",
        "_max_batch",
        "_mean_us",
        "_next_decision_s",
        "_ratio",
        "_reached",
        "_requests",
        "_total_us",
        "_variance",
    )

    def __init__(
        self,
        max_in_flight_requests: int,
        initial: int = 1,
        *,
        ratio: float = 0.9,
        alpha: float = 0.4,
        deviations: float = 2.5,
        max_batch_size: int = UNBOUNDED,
    ) -> None:
        if not 1 <= initial <= max_in_flight_requests:
            raise ValueError(f"initial = {initial} must lie between 1 and max_in_flight_requests")
        if not 0 < ratio < 1:
            raise ValueError(f"ratio = {ratio} must lie between 0 and 1")
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha = {alpha} must be larger than 0 and at most 1")
        if not deviations >= 0:
            raise ValueError(f"deviations = {deviations} must be at least 0")
        self._ceiling, self._limit, self._max_batch = max_in_flight_requests, initial, max_batch_size
        self._ratio, self._alpha, self._deviations = ratio, alpha, deviations
        self._requests = 0
        # Whole microseconds: sums of equal round trips then divide to exactly that, and noise of floats is no signal.
        self._mean_us: float | None = None
        self._variance = 0.0
        self._next_decision_s = -inf
        self._start_round()

    def _start_round(self) -> None:
        self._total_us = self._count = 0
        self._dropped = self._reached = False

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._requests += 1
        if self._requests >= self._limit:
            self._reached = True

    def register_completed_request(self, info: ResultInfo) -> None:
        self._requests -= 1
        if info.ignored or (not info.throttled and 0 < info.failed < info.batch_size):
            return
        round_trip_us = max(0, round((info.now_s - info.request_start_s) * 1e6))
        if info.failed:
            self._dropped = True
        else:
            self._total_us += round_trip_us
            self._count += 1
        if info.now_s >= self._next_decision_s:
            current_us = self._total_us / self._count if self._count else None
            self._decide(current_us)
            if current_us is not None:
                self._learn(current_us)
            self._next_decision_s = info.now_s + (self._mean_us or round_trip_us) / 1e6
            self._start_round()

    def _decide(self, current_us: float | None) -> None:
        growth = self._growth(current_us)
        if self._dropped or growth > 0:
            self._limit = max(1, int(self._limit * self._ratio))
        elif self._reached and growth < 0:
            self._limit = min(self._ceiling, self._limit + 1)

    def _growth(self, current_us: float | None) -> int:
        """How the round trip has changed: 1 if it has grown by more than is usual, -1 if not at all, 0 in between."""
        if current_us is None or self._mean_us is None:
            return 0
        if round(current_us) <= round(self._mean_us):
            return -1
        usual_us = self._mean_us + self._deviations * sqrt(self._variance)
        return 1 if round(current_us) > round(usual_us) else 0

    def _learn(self, current_us: float) -> None:
        """Take a round trip into mean and variance, both exponentially weighted (T. Finch, 2009)."""
        if self._mean_us is None:
            self._mean_us = current_us
            return
        difference = current_us - self._mean_us
        self._mean_us += self._alpha * difference
        self._variance = (1 - self._alpha) * (self._variance + self._alpha * difference * difference)

    def should_block(self, info: RequestInfo) -> bool:
        return self._requests >= self._limit

    @property
    def max_batch_size(self) -> int:
        return self._max_batch

    @property
    def limit(self) -> int:
        """The requests that may be in flight now."""
        return self._limit

    def snapshot(self) -> bytes | None:
        return hint("adaptive", self._limit)

    def seed(self, snapshots: Sequence[bytes]) -> None:
        self._limit = learned("adaptive", snapshots, self._ceiling) or self._limit
