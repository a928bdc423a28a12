"""A rate that finds what the destination takes, and paces requests to it instead of running into throttles."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log
from typing import Final

from asyncsink.limits.hints import hint, learned
from asyncsink.limits.strategy import UNBOUNDED, RateLimitingStrategy, RequestInfo, ResultInfo

CUT: Final = 0.1
"""The share of the rate that a throttle takes away."""
RECOVERY_S: Final = 2.0
"""Seconds after a throttle until the rate is again what it was."""
VERIFYING_S: Final = 0.3
"""The same after a rate that a deep bucket may have lent, so that the true one is soon known."""
PROBE: Final = 0.01
PROBE_GROWTH_S: Final = 0.5
"""After the recovery the rate grows by ``PROBE * (exp(t / PROBE_GROWTH_S) - 1)`` of itself: doubled after 2.3 s."""
QUANTUM_S: Final = 0.02
"""A batch holds as many seconds' worth of records: what a throttle refuses is then small."""
LONGEST_QUANTUM_S: Final = 1.0
BURST_S: Final = 0.005
"""Seconds' worth of records that may be caught up with after a pause."""
ECHO_S: Final = 0.3
"""A throttle so soon after another is of the same overload: the other writers have not all heard of it yet."""
ECHOES: Final = 3
"""So many in a row are no echoes any more: the capacity has fallen."""
LENT: Final = 0.85
"""A rate of which less than this share was delivered on average was lent by a deep bucket."""
LOWEST_RATE: Final = 1.0
"""Records a second that are always tried."""


class Curve:
    """The rate over the time since the last throttle, after CUBIC (RFC 9438) with an exponential end.

    It starts CUT below `level`, is there again after `recovery_s`, rests, and then grows ever faster. Relative to the
    level everywhere, so that a capacity of a hundred and one of a million records are found in the same time.
    """

    __slots__ = ("_recovery_s", "level", "start_s")

    def __init__(self, level: float, start_s: float, recovery_s: float) -> None:
        self.level = max(LOWEST_RATE, level)
        self.start_s = start_s
        self._recovery_s = recovery_s

    def rate(self, now_s: float) -> float:
        """Records a second."""
        over_s = now_s - self.start_s - self._recovery_s
        if over_s < 0:
            return self.level * (1 - CUT * (-over_s / self._recovery_s) ** 3)
        return self.level * (1 + PROBE * (exp(min(50.0, over_s / PROBE_GROWTH_S)) - 1))


class PacedRateLimitingStrategy(RateLimitingStrategy):
    """Sends at a rate, evenly, and moves the rate.

    It begins without one: a window of records in flight grows by each success, as TCP's slow start does, until the
    first throttle. What was delivered until then is the first rate. From then on each request waits for its turn, the
    rate follows :class:`Curve`, and a throttle begins a new curve, at most one for each round trip. Requests become
    small where the rate is small, so that a throttle costs little; where throttles go on although the rate falls, the
    destination counts requests, and they become larger.

    A request none of whose entries was stored counts as a throttle; failures of single entries, and what is `ignored`,
    say nothing. While the source or the requests in flight and not the rate hold it back, the rate does not grow.

    :param max_in_flight_requests: the most requests at once
    :param initial: the window at the start, in records
    :param ceiling: the largest window
    :param max_batch_size: the most entries a request
    """

    __slots__ = (
        "_ceiling",
        "_curve",
        "_cut_s",
        "_delivered",
        "_delivered_before",
        "_echoes",
        "_episode_rate",
        "_first_s",
        "_max_batch",
        "_max_requests",
        "_next_s",
        "_quantum_s",
        "_rate",
        "_records",
        "_requests",
        "_seeded",
        "_window",
    )

    def __init__(
        self, max_in_flight_requests: int, initial: int = 10, ceiling: int = UNBOUNDED, max_batch_size: int = UNBOUNDED
    ) -> None:
        if not 1 <= initial <= ceiling:
            raise ValueError(f"initial = {initial} must lie between 1 and ceiling = {ceiling}")
        self._max_requests, self._ceiling, self._max_batch = max_in_flight_requests, ceiling, max_batch_size
        self._window = initial
        self._requests = self._records = 0
        self._delivered = self._delivered_before = 0
        self._first_s: float | None = None
        self._seeded: int | None = None
        self._curve: Curve | None = None
        self._rate = self._episode_rate = 0.0
        self._echoes = 0
        self._cut_s = self._next_s = -inf
        self._quantum_s = QUANTUM_S

    # ---- requests --------------------------------------------------------------------------------------------

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._requests += 1
        self._records += info.batch_size
        now_s = info.now_s
        if self._first_s is None:
            self._start(now_s)
        curve = self._curve
        if curve is None:
            return
        idle_s = now_s - BURST_S - self._next_s
        if idle_s > 0:
            # It was not the rate that held this request back: nothing is learned of whether more would be taken.
            self._next_s += idle_s
            curve.start_s += min(idle_s, now_s - curve.start_s)
        self._rate = curve.rate(now_s)
        self._next_s += info.batch_size / self._rate

    def _start(self, now_s: float) -> None:
        self._first_s = now_s
        if self._seeded is not None:
            self._begin(self._seeded, now_s, VERIFYING_S)

    def register_completed_request(self, info: ResultInfo) -> None:
        self._requests -= 1
        self._records -= info.batch_size
        if info.ignored:
            return
        self._delivered += info.batch_size - info.failed
        pressed = info.throttled > 0 or info.failed >= info.batch_size
        if self._curve is not None:
            if pressed and info.request_start_s >= self._cut_s:
                self._throttled(self._curve, info.now_s)
        elif pressed:
            self._leave_slow_start(info.now_s)
        elif not info.failed:
            self._window = min(self._ceiling, self._window + info.batch_size)

    def should_block(self, info: RequestInfo) -> bool:
        if self._requests >= self._max_requests:
            return True
        return self._curve is None and self._requests > 0 and self._records + info.batch_size > self._window

    def delay_s(self, info: RequestInfo) -> float:
        if self._curve is None:
            return 0.0
        return max(0.0, self._next_s - info.now_s)

    @property
    def max_batch_size(self) -> int:
        if self._curve is None:
            return min(self._max_batch, self._window)
        return max(1, min(self._max_batch, int(self._rate * self._quantum_s)))

    @property
    def records_per_s(self) -> float | None:
        """The rate; None while nothing has been throttled yet."""
        return self._rate if self._curve is not None else None

    # ---- the rate --------------------------------------------------------------------------------------------

    def _leave_slow_start(self, now_s: float) -> None:
        if not self._delivered or self._first_s is None:
            return  # nothing has been taken yet, which says nothing of how much would be
        level = self._delivered / max(0.001, now_s - self._first_s)
        self._first_s, self._episode_rate = now_s, level
        self._begin(level, now_s, VERIFYING_S)

    def _begin(self, level: float, now_s: float, recovery_s: float) -> None:
        self._curve = Curve(level, now_s, recovery_s)
        self._rate = self._curve.rate(now_s)
        self._cut_s, self._delivered_before = now_s, self._delivered
        self._next_s = max(self._next_s, now_s)

    def _throttled(self, curve: Curve, now_s: float) -> None:
        assert self._first_s is not None
        since_s, delivered = now_s - self._cut_s, self._delivered - self._delivered_before
        if not delivered and since_s < 1.0:
            return  # nothing goes through: that is the backoff's business, and says little of the rate
        level, recovery_s = curve.rate(now_s), RECOVERY_S
        if since_s >= 1.0 and (average := 1.1 * delivered / since_s) < LENT * level:
            # What the bucket lent is used up; over the whole curve it cannot have taken more than is refilled.
            level, recovery_s = average, VERIFYING_S
        self._echoes = self._echoes + 1 if since_s < ECHO_S else 0
        if self._echoes < ECHOES:
            level = _calm(curve.level, level)
        self._begin(level, now_s, recovery_s)
        self._resize(level, since_s)

    def _resize(self, level: float, since_s: float) -> None:
        """Larger requests where throttles go on while the rate falls; slowly small ones again where they do not."""
        if since_s > 1.0:
            self._quantum_s = max(QUANTUM_S, self._quantum_s * 0.98)
            self._episode_rate = level
        elif level < self._episode_rate / 4:
            self._quantum_s = min(LONGEST_QUANTUM_S, self._quantum_s * 2)
            self._episode_rate = level

    # ---- hints -----------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes | None:
        return None if self._curve is None else hint("paced", round(self._curve.level))

    def seed(self, snapshots: Sequence[bytes]) -> None:
        self._seeded = learned("paced", snapshots, UNBOUNDED)


def _calm(before: float, now: float) -> float:
    """The new level: near the former one only a part of the way, as a single throttle is much noise."""
    ratio = now / before
    if not 0.8 < ratio < 1.25:
        return now
    return before * exp(log(ratio) * (0.4 if ratio < 1 else 0.7))
