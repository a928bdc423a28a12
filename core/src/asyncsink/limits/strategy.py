"""The seam of FLIP-242: what may be sent now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

UNBOUNDED: Final = 2**31 - 1
"""The `max_batch_size` of a strategy that does not bound batches: Flink's Integer.MAX_VALUE."""


class RequestInfo(NamedTuple):
    """A request that is about to be sent: the actual batch, not a planned one.

    `size_in_bytes` as the service counts; `now_s` on the event loop's clock.
    """

    batch_size: int
    size_in_bytes: int
    now_s: float


class ResultInfo(NamedTuple):
    """A request that has ended, in whatever way: answered, in part, throttled, cut at its deadline, cancelled.

    `failed` counts the entries that were not stored, `throttled` those among them that the service throttled.
    `ignored` is set where the ending says nothing about load: the writer was closed or cancelled, or the service
    refused what the entries hold. A strategy gives back what the request held and learns nothing from it.
    """

    batch_size: int
    size_in_bytes: int
    failed: int
    throttled: int
    request_start_s: float
    now_s: float
    retry_after_s: float | None
    ignored: bool = False


made: Any = tuple.__new__
"""Makes either of them out of their fields in order, in half the time: two are made for each request."""


class RateLimitingStrategy(ABC):
    """Decides whether the next request may go (FLIP-242). Pure arithmetic: no I/O, no clock, no waiting.

    Every request is registered once when it is sent and completed once when it has ended. The instance belongs to one
    scope of one event loop.
    """

    @abstractmethod
    def register_in_flight_request(self, info: RequestInfo) -> None:
        """A request is being sent."""

    @abstractmethod
    def register_completed_request(self, info: ResultInfo) -> None:
        """A request that was registered has ended."""

    @abstractmethod
    def should_block(self, info: RequestInfo) -> bool:
        """Whether this request must wait; asked again after each completion and when :meth:`delay_s` has passed."""

    @property
    @abstractmethod
    def max_batch_size(self) -> int:
        """The most entries that the next request may hold; below 1 counts as 1."""

    def delay_s(self, info: RequestInfo) -> float:
        """Seconds before which this request must not go. 0 by default."""
        return 0.0

    def snapshot(self) -> bytes | None:
        """What was learned, for :meth:`seed` of a successor; None if nothing is worth keeping."""
        return None

    def seed(self, snapshots: Sequence[bytes]) -> None:  # noqa: B027 (most strategies learn nothing)
        """Start from what predecessors have learned. Unknown bytes are ignored: they are a hint, not state."""
