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
COSTLY: Final = 60.0
LONGEST_RECOVERY_S: Final = 15.0
"""The recovery is at least so many times what a throttle costs: the wait that is asked for (one-1m-bytes-hints) and the
time that a refused request stands for (requests-20). About a sixtieth is lost then."""
LONG_WAIT_S: Final = 0.1
"""Where throttles cost so much, what was delivered on average is believed at once."""
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
ROW_S: Final = 1.0
"""A throttle so soon after another is of the same row; a row as long without anything stored is an outage."""
LARGER: Final = 3.0
"""Where a row has cut the rate by this much, so many times larger requests are tried (requests-20; 2 is too often)."""
SMALLER: Final = 0.95
"""With each single throttle they become smaller again, unless the rate has come back meanwhile."""
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
    destination may count requests, and larger ones are tried. An outage leaves the rate as it is.

    A request none of whose entries was stored counts as a throttle; failures of single entries, and what is `ignored`,
    say nothing. While the source or the requests in flight and not the rate hold it back, the rate does not grow.

    :param max_in_flight_requests: the most requests at once
    :param initial: the window at the start, in records
    :param ceiling: the largest window
    :param max_batch_size: the most entries a request
    """

    __slots__ = (
        "_ceiling", "_curve", "_cut_s", "_delivered", "_delivered_before", "_echoes", "_episode_rate", "_first_s",
        "_lost_s", "_max_batch", "_max_requests", "_next_s", "_quantum_s", "_rate", "_records", "_requests",
        "_seeded", "_shrink", "_trial_rate", "_window", "max_batch_size",
    )  # fmt: skip
    max_batch_size: int  # no property: it is asked for three times a request

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
        self._rate = self._episode_rate = self._trial_rate = 0.0
        self._echoes = 0
        self._cut_s = self._next_s = -inf
        self._quantum_s = QUANTUM_S
        self._shrink = 1
        self.max_batch_size = min(max_batch_size, initial)
        self._lost_s = 0.0

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
        self._follow(curve, now_s)
        self._next_s += info.batch_size * self._shrink / self._rate

    def _start(self, now_s: float) -> None:
        self._first_s = now_s
        if self._seeded is not None:
            self._begin(self._seeded, now_s, VERIFYING_S)

    def register_completed_request(self, info: ResultInfo) -> None:
        size, failed = info.batch_size, info.failed
        self._requests -= 1
        self._records -= size
        if info.ignored:
            return
        self._delivered += size - failed
        curve, pressed = self._curve, failed and (info.throttled > 0 or failed >= size)
        if curve is None:
            if pressed:
                self._leave_slow_start(info.now_s)
            elif not failed and self._window < self._ceiling:
                self._widen(self._window + size)
        elif pressed:
            if info.request_start_s >= self._cut_s:
                self._throttled(curve, info.now_s, info.retry_after_s or 0.0)
        elif self._shrink > 1:
            self._revive(curve, info.now_s)

    def _widen(self, window: int) -> None:
        self._window = max(1, min(self._ceiling, window))
        self.max_batch_size = min(self._max_batch, self._window)

    def should_block(self, info: RequestInfo) -> bool:
        if self._requests >= self._max_requests:
            return True
        return self._curve is None and self._requests > 0 and self._records + info.batch_size > self._window

    def delay_s(self, info: RequestInfo) -> float:
        if self._curve is None:
            return 0.0
        return max(0.0, self._next_s - info.now_s)

    @property
    def records_per_s(self) -> float | None:
        """The rate; None while nothing has been throttled yet."""
        return self._rate if self._curve is not None else None

    def _leave_slow_start(self, now_s: float) -> None:
        if not self._delivered or self._first_s is None:
            self._widen(self._window // 2)
            return  # nothing has been taken yet, which says nothing of how much would be
        level = self._delivered / max(0.001, now_s - self._first_s)
        self._first_s, self._episode_rate = now_s, level
        self._begin(level, now_s, VERIFYING_S)

    def _begin(self, level: float, now_s: float, recovery_s: float) -> None:
        self._curve = Curve(level, now_s, recovery_s)
        self._follow(self._curve, now_s)
        self._cut_s, self._delivered_before = now_s, self._delivered
        self._next_s = max(self._next_s, now_s)

    def _follow(self, curve: Curve, now_s: float) -> None:
        self._rate = curve.rate(now_s)
        self.max_batch_size = max(1, min(self._max_batch, int(self._rate * self._quantum_s)) // self._shrink)

    def _throttled(self, curve: Curve, now_s: float, asked_s: float) -> None:
        since_s, delivered = now_s - self._cut_s, self._delivered - self._delivered_before
        if not delivered:
            # Nothing goes through, which is the backoff's business and says little of the rate. Requests become small
            # in case the destination is there, but takes none as large as these any more.
            if since_s >= ROW_S and self.max_batch_size > 1:
                self._shrink *= 2
                self._follow(curve, now_s)
            return
        level = curve.rate(now_s)
        used_s = since_s - self._lost_s
        if used_s >= 1.0 and (average := 1.1 * delivered / used_s) < LENT * level:
            # What the bucket lent is used up; over the whole curve it cannot have taken more than is refilled.
            level, recovery_s = average, VERIFYING_S
        else:
            cost_s = asked_s + self._quantum_s
            recovery_s = max(RECOVERY_S, min(LONGEST_RECOVERY_S, COSTLY * cost_s))
            if asked_s > LONG_WAIT_S and used_s >= 1.0:
                level = min(level, delivered / used_s)
        self._echoes = self._echoes + 1 if since_s < ECHO_S else 0
        if self._echoes < ECHOES:
            level = _calm(curve.level, level)
        if self._resize(level, since_s):
            recovery_s = VERIFYING_S
        self._lost_s = asked_s
        self._begin(level, now_s, recovery_s)

    def _revive(self, curve: Curve, now_s: float) -> None:
        """Something was stored again after an outage: go on at the old level, with requests that double."""
        self._shrink //= 2
        self._begin(curve.level, now_s, RECOVERY_S)

    def _resize(self, level: float, since_s: float) -> bool:
        """Fewer, larger requests where a row of throttles goes on while the rate falls: it may be requests that count.

        They are kept if the rate then doubles, else become smaller again. True where a trial begins.
        """
        if since_s < ROW_S:
            tried = level < self._episode_rate / LARGER
            if tried:
                self._quantum_s = min(LONGEST_QUANTUM_S, self._quantum_s * LARGER)
                self._episode_rate = self._trial_rate = level
            return tried
        self._episode_rate = level
        if level > 2 * self._trial_rate:
            self._trial_rate = 0.0
        if self._trial_rate or self._rate * self._quantum_s < self._max_batch:
            self._quantum_s = max(QUANTUM_S, self._quantum_s * SMALLER)
        return False

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
