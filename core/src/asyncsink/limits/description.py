"""A rate limit as the user describes it; strategies are made from it in the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from asyncsink.errors import ConfigurationError
from asyncsink.limits.congestion import CongestionControlRateLimitingStrategy
from asyncsink.limits.scaling import AIMDScalingStrategy
from asyncsink.limits.strategy import RateLimitingStrategy

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A frozen, picklable description of a :class:`RateLimitingStrategy`; make one by :meth:`aimd` or :meth:`flink`."""

    kind: Literal["aimd", "flink"]
    initial: int | None = None
    ceiling: int | None = None
    increase: int = 10
    factor: float = 0.5

    def __post_init__(self) -> None:
        if self.kind not in ("aimd", "flink"):
            raise ConfigurationError(f"rate_limit kind {self.kind!r} is not known; use 'aimd' or 'flink'")
        for name in ("initial", "ceiling", "increase"):
            value: Any = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ConfigurationError(f"rate_limit {name} = {value!r} must be a whole number of at least 1 record")
        if not isinstance(self.factor, float) or not 0 < self.factor < 1:
            raise ConfigurationError(f"rate_limit factor = {self.factor!r} must be a number between 0 and 1")

    @classmethod
    def aimd(
        cls, *, initial: int | None = None, ceiling: int | None = None, increase: int = 10, factor: float = 0.5
    ) -> RateLimit:
        """Additive increase, multiplicative decrease of the records in flight, concurrent from the first second.

        Start and ceiling default to ``max_batch_size * max_in_flight_requests``.
        """
        return cls(kind="aimd", initial=initial, ceiling=ceiling, increase=increase, factor=factor)

    @classmethod
    def flink(cls, *, factor: float = 0.5) -> RateLimit:
        """Flink's start and arithmetic: one batch at first, 10 more a success, `factor` of it after a failure.

        Kinesis' sink upstream has a factor of 0.99.
        """
        return cls(kind="flink", factor=factor)

    def make(self, config: AsyncSinkWriterConfig) -> RateLimitingStrategy:
        """The strategy for one scope of a writer with `config`."""
        most = self.ceiling or config.max_batch_size * config.max_in_flight_requests
        initial = config.max_batch_size if self.kind == "flink" else most
        scaling = AIMDScalingStrategy(most, min(self.increase, most), self.factor)
        return CongestionControlRateLimitingStrategy(
            config.max_in_flight_requests, min(self.initial or initial, most), most, scaling
        )
