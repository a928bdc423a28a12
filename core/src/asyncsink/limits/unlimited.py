"""The strategy that holds nothing back."""

from __future__ import annotations

from asyncsink.limits.strategy import UNBOUNDED, RateLimitingStrategy, RequestInfo, ResultInfo


class NoRateLimitingStrategy(RateLimitingStrategy):
    """Lets every request go; the writer's own ``max_in_flight_requests`` and the backoff still hold.

    :param max_batch_size: the most entries a request
    """

    __slots__ = ("_max_batch",)

    def __init__(self, max_batch_size: int = UNBOUNDED) -> None:
        self._max_batch = max_batch_size

    def register_in_flight_request(self, info: RequestInfo) -> None:
        """Nothing is counted."""

    def register_completed_request(self, info: ResultInfo) -> None:
        """Nothing is learned."""

    def should_block(self, info: RequestInfo) -> bool:
        return False

    @property
    def max_batch_size(self) -> int:
        return self._max_batch
