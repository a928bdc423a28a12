"""When a budget moves: FLIP-242's "when", over any answer to "how much"."""

from __future__ import annotations

from collections import deque

from asyncsink.limits.scaling import ScalingStrategy
from asyncsink.limits.strategy import ResultInfo


class ThresholdScalingStrategy:
    """Scales down only above a share of failures, and up only after some successes in short order (FLIP-242).

    A request that failed, even in part, asks `scaling` for a smaller budget if more than `failure_share` of the entries
    that have ended within the last `window_s` were not stored; itself counts too. A request that was stored whole asks
    it for a larger one if it is the last of `successes` such requests within `within_s`; they count once.

    :param scaling: says how much
    :param failure_share: from 0, where every failure scales down, to below 1
    :param window_s: seconds over which the share is taken
    :param successes: requests stored whole that it takes to scale up
    :param within_s: seconds within which they must have ended
    :raises ValueError: a parameter is outside these bounds
    """

    __slots__ = (
        "_ended",
        "_entries",
        "_failed",
        "_scaling",
        "_share",
        "_successes",
        "_times_s",
        "_window_s",
        "_within_s",
    )

    def __init__(
        self,
        scaling: ScalingStrategy,
        *,
        failure_share: float = 0.1,
        window_s: float = 10.0,
        successes: int = 10,
        within_s: float = 10.0,
    ) -> None:
        if not 0 <= failure_share < 1:
            raise ValueError(f"failure_share = {failure_share} must be at least 0 and below 1")
        if successes < 1:
            raise ValueError(f"successes = {successes} must be at least 1")
        for name, value in (("window_s", window_s), ("within_s", within_s)):
            if not value > 0:
                raise ValueError(f"{name} = {value} must be larger than 0")
        self._scaling, self._share, self._window_s, self._within_s = scaling, failure_share, window_s, within_s
        self._successes = successes
        self._ended: deque[tuple[float, int, int]] = deque()
        """When requests have ended, their entries, and those among them that were not stored."""
        self._entries = self._failed = 0
        self._times_s: deque[float] = deque(maxlen=successes)
        """When the last requests were stored whole."""

    def scale_up(self, current: int, result: ResultInfo) -> int:
        self._note(result)
        times_s = self._times_s
        times_s.append(result.now_s)
        if len(times_s) < self._successes or result.now_s - times_s[0] > self._within_s:
            return current
        times_s.clear()
        return self._scaling.scale_up(current, result)

    def scale_down(self, current: int, result: ResultInfo) -> int:
        self._note(result)
        if self._failed <= self._share * self._entries:
            return current
        return self._scaling.scale_down(current, result)

    def _note(self, result: ResultInfo) -> None:
        self._ended.append((result.now_s, result.batch_size, result.failed))
        self._entries += result.batch_size
        self._failed += result.failed
        while self._ended[0][0] < result.now_s - self._window_s:
            _, entries, failed = self._ended.popleft()
            self._entries -= entries
            self._failed -= failed
