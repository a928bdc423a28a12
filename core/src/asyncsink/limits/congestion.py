"""Flink's default strategy: a budget of what is in flight that grows with success and shrinks with failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from asyncsink.limits.hints import hint, learned
from asyncsink.limits.scaling import ScalingStrategy
from asyncsink.limits.strategy import UNBOUNDED, RateLimitingStrategy, RequestInfo, ResultInfo

Unit = Literal["records", "requests", "bytes"]


class CongestionControlRateLimitingStrategy(RateLimitingStrategy):
    """Bounds the requests in flight, and their records, their bytes or themselves by a budget that a scaling moves.

    Upstream's arithmetic with actual counts: a request blocks if it would be one too many or would bring more into
    flight than the budget; any entry that was not stored scales the budget down. One that is larger than the whole
    budget goes alone. The three questions of FLIP-242: `unit` says what is scaled, `scaling` when and how much.

    :param max_in_flight_requests: the most requests at once
    :param initial: the budget at the start, in `unit`
    :param ceiling: the largest budget
    :param unit: what the budget counts
    :param max_batch_size: the most entries a request; beside a budget of records, which bounds them itself
    """

    __slots__ = (
        "_budget",
        "_by_records",
        "_ceiling",
        "_entry_size",
        "_held",
        "_max_batch",
        "_max_requests",
        "_requests",
        "_scaling",
        "_unit",
    )

    def __init__(
        self,
        max_in_flight_requests: int,
        initial: int,
        ceiling: int,
        scaling: ScalingStrategy,
        unit: Unit = "records",
        max_batch_size: int = UNBOUNDED,
    ) -> None:
        if unit not in ("records", "requests", "bytes"):
            raise ValueError(f"unit = {unit!r} must be 'records', 'requests' or 'bytes'")
        self._max_requests = max_in_flight_requests
        self._budget = initial
        self._ceiling = ceiling
        self._scaling = scaling
        self._unit = unit
        self._by_records = unit == "records"
        self._max_batch = max_batch_size
        self._requests = 0
        self._held = 0
        self._entry_size = 0

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._requests += 1
        self._held += info.batch_size if self._by_records else self._amount(info)

    def register_completed_request(self, info: ResultInfo) -> None:
        self._requests -= 1
        self._held -= info.batch_size if self._by_records else self._amount(info)
        # Learned from what has ended: only then does the writer look whether smaller batches have become due.
        self._entry_size = -(-info.size_in_bytes // max(1, info.batch_size))
        if info.ignored:
            return
        scale = self._scaling.scale_down if info.failed else self._scaling.scale_up
        self._budget = min(self._ceiling, max(1, scale(self._budget, info)))

    def should_block(self, info: RequestInfo) -> bool:
        if self._requests >= self._max_requests:
            return True
        return (
            self._requests > 0
            and self._held + (info.batch_size if self._by_records else self._amount(info)) > self._budget
        )

    def _amount(self, info: RequestInfo | ResultInfo) -> int:
        if self._unit == "records":
            return info.batch_size
        return 1 if self._unit == "requests" else info.size_in_bytes

    @property
    def max_batch_size(self) -> int:
        if self._unit == "records":
            return self._budget
        if self._unit == "requests" or not self._entry_size:
            return self._max_batch
        return min(self._max_batch, max(1, self._budget // self._entry_size))

    @property
    def _name(self) -> str:
        # A budget of one unit says nothing of another.
        return "congestion" if self._unit == "records" else f"congestion-{self._unit}"

    def snapshot(self) -> bytes | None:
        return hint(self._name, self._budget)

    def seed(self, snapshots: Sequence[bytes]) -> None:
        self._budget = learned(self._name, snapshots, self._ceiling) or self._budget
