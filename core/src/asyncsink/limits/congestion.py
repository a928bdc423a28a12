"""Flink's default strategy: a budget of records in flight that grows with success and shrinks with failure."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsink.limits.scaling import ScalingStrategy
from asyncsink.limits.strategy import RateLimitingStrategy, RequestInfo, ResultInfo


class CongestionControlRateLimitingStrategy(RateLimitingStrategy):
    """Bounds the requests, and the records, in flight; the records by a budget that a scaling strategy moves.

    Upstream's arithmetic with actual counts: a request blocks if it would be one too many or would bring more records
    into flight than the budget; any entry that was not stored scales the budget down.

    :param max_in_flight_requests: the most requests at once
    :param initial: the budget at the start, in records
    :param ceiling: the largest budget, for a seed that was learned under other limits
    """

    __slots__ = ("_budget", "_ceiling", "_max_requests", "_records", "_requests", "_scaling")

    def __init__(self, max_in_flight_requests: int, initial: int, ceiling: int, scaling: ScalingStrategy) -> None:
        self._max_requests = max_in_flight_requests
        self._budget = initial
        self._ceiling = ceiling
        self._scaling = scaling
        self._requests = 0
        self._records = 0

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._requests += 1
        self._records += info.batch_size

    def register_completed_request(self, info: ResultInfo) -> None:
        self._requests -= 1
        self._records -= info.batch_size
        if info.ignored:
            return
        scale = self._scaling.scale_down if info.failed else self._scaling.scale_up
        self._budget = scale(self._budget)

    def should_block(self, info: RequestInfo) -> bool:
        return self._requests >= self._max_requests or self._records + info.batch_size > self._budget

    @property
    def max_batch_size(self) -> int:
        return self._budget

    def snapshot(self) -> bytes | None:
        return b"congestion:%d" % self._budget

    def seed(self, snapshots: Sequence[bytes]) -> None:
        budgets = [int(each[11:]) for each in snapshots if each.startswith(b"congestion:") and each[11:].isdigit()]
        if budgets:
            self._budget = min(self._ceiling, max(1, sum(budgets) // len(budgets)))
