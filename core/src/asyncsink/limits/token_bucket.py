"""A fixed rate: what FLIP-242 rejected for want of a delay."""

from __future__ import annotations

from math import inf

from asyncsink.limits.allowance import Allowance
from asyncsink.limits.strategy import UNBOUNDED, RateLimitingStrategy, RequestInfo, ResultInfo


class TokenBucketRateLimitingStrategy(RateLimitingStrategy):
    """Lets at most so many requests, records and bytes go in any `per_s` seconds, evenly but for a burst.

    The burst counts within the window: 500 requests in 60 s are never 501 in any 60 s. Batches are cut so that they do
    not exceed the burst and that whole ones fill the allowance. One that still is larger, in bytes or because it is
    sent again as it was, goes when the window is empty and is paid for by a longer wait after it.

    :param requests: requests per `per_s`; None for any number, and so for the others
    :param records: entries per `per_s`
    :param size_in_bytes: bytes per `per_s`, as the service counts them
    :param per_s: the window, in seconds
    :param burst: what may go at once after a pause, in the unit of the first limit that is given, of the others the
        same share; by default one second's worth, the whole allowance of a window that is shorter
    :param max_batch_size: the most entries a request, whatever the rate
    :raises ValueError: no limit is given, or a number is outside its bounds
    """

    __slots__ = ("_bytes", "_max_batch", "_most_entries", "_records", "_requests")

    def __init__(
        self,
        *,
        requests: float | None = None,
        records: float | None = None,
        size_in_bytes: float | None = None,
        per_s: float = 1.0,
        burst: float | None = None,
        max_batch_size: int = UNBOUNDED,
    ) -> None:
        given = {"requests": requests, "records": records, "size_in_bytes": size_in_bytes, "per_s": per_s}
        limits = _limits(given, burst)
        share = min(1.0, 1.0 / per_s) if burst is None else burst / limits[0]
        self._requests, self._records, self._bytes = (
            None if amount is None else Allowance(amount, per_s, amount * share)
            for amount in (requests, records, size_in_bytes)
        )
        self._most_entries = max_batch_size
        self._max_batch = self._fitting(0.0)

    def go_on_from(self, before: TokenBucketRateLimitingStrategy) -> None:
        """Take over what went while the same limits were divided in other parts, in the middle of a window too."""
        pairs = (
            (self._requests, before._requests),
            (self._records, before._records),
            (self._bytes, before._bytes),
        )
        for own, other in pairs:
            if own is not None and other is not None:
                own.go_on_from(other)

    def register_in_flight_request(self, info: RequestInfo) -> None:
        if self._requests is not None:
            self._requests.take(1, info.now_s)
        if self._records is not None:
            self._records.take(info.batch_size, info.now_s)
        if self._bytes is not None:
            self._bytes.take(info.size_in_bytes, info.now_s)

    def register_completed_request(self, info: ResultInfo) -> None:
        if self._bytes is not None and info.batch_size:
            self._max_batch = self._fitting(info.size_in_bytes / info.batch_size)

    def should_block(self, info: RequestInfo) -> bool:
        return False

    def delay_s(self, info: RequestInfo) -> float:
        wait_s = 0.0
        if self._requests is not None:
            wait_s = self._requests.wait_s(1, info.now_s)
        if self._records is not None:
            wait_s = max(wait_s, self._records.wait_s(info.batch_size, info.now_s))
        if self._bytes is not None:
            wait_s = max(wait_s, self._bytes.wait_s(info.size_in_bytes, info.now_s))
        return wait_s

    @property
    def max_batch_size(self) -> int:
        return self._max_batch

    def _fitting(self, entry_size: float) -> int:
        """The most entries of that size whose batch the allowances hold well; of size 0 for one that is not known."""
        most = float(self._most_entries)
        if self._records is not None:
            most = min(most, self._records.portion(most))
        if self._bytes is not None and entry_size:
            most = min(most, self._bytes.portion(most * entry_size) / entry_size)
        return max(1, int(most))


def _limits(given: dict[str, float | None], burst: float | None) -> list[float]:
    """The limits that are given, in order, if all that is given can be meant."""
    for name, value in given.items():
        if value is not None and not 0 < value < inf:
            raise ValueError(f"{name} = {value} must be larger than 0 and finite")
    limits = [value for name, value in given.items() if value is not None and name != "per_s"]
    if not limits:
        raise ValueError("nothing is limited; give requests, records or size_in_bytes")
    if burst is not None and not 0 < burst <= max(1.0, limits[0]):
        raise ValueError(
            f"burst = {burst} must be larger than 0 and at most {limits[0]:g}, all that may go in one window"
        )
    return limits
