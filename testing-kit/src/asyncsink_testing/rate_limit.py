"""A rate limit that keeps what it was told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from asyncsink import AsyncSinkWriterConfig, RateLimit, RateLimitingStrategy, RequestInfo, ResultInfo
from asyncsink_testing.history import History, LimitCompleted, LimitRegistered


class RecordedStrategy(RateLimitingStrategy):
    """Passes everything on to another strategy, or blocks nothing at all, and records it."""

    def __init__(
        self, inner: RateLimitingStrategy | None, number: int, history: History, writer: Callable[[], int]
    ) -> None:
        self._inner, self._number, self._history, self._writer = inner, number, history, writer

    def register_in_flight_request(self, info: RequestInfo) -> None:
        told = self._number, info.batch_size, info.size_in_bytes
        self._history.add(LimitRegistered(self._history.clock(), self._writer(), *told))
        if self._inner is not None:
            self._inner.register_in_flight_request(info)

    def register_completed_request(self, info: ResultInfo) -> None:
        told = self._number, info.batch_size, info.size_in_bytes
        self._history.add(LimitCompleted(self._history.clock(), self._writer(), *told, ignored=info.ignored))
        if self._inner is not None:
            self._inner.register_completed_request(info)

    def should_block(self, info: RequestInfo) -> bool:
        return self._inner is not None and self._inner.should_block(info)

    def delay_s(self, info: RequestInfo) -> float:
        return 0.0 if self._inner is None else self._inner.delay_s(info)

    @property
    def max_batch_size(self) -> int:
        return 2**31 if self._inner is None else self._inner.max_batch_size


@dataclass(frozen=True, kw_only=True)
class RecordedRateLimit(RateLimit):
    """Makes recorded strategies; equal to another of the same description."""

    history: History = field(default_factory=History, compare=False, repr=False)
    writer: Callable[[], int] = field(default=lambda: 0, compare=False, repr=False)
    limited: bool = True
    made: list[Any] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(
        cls, config: AsyncSinkWriterConfig, history: History, writer: Callable[[], int], limited: bool
    ) -> AsyncSinkWriterConfig:
        """`config` with a rate limit that records."""
        told = {each.name: getattr(config.rate_limit, each.name) for each in fields(config.rate_limit)}
        if isinstance(config.rate_limit, RecordedRateLimit):
            told = {each.name: told[each.name] for each in fields(RateLimit)}
        return replace(config, rate_limit=cls(**told, history=history, writer=writer, limited=limited))

    def make(self, config: AsyncSinkWriterConfig) -> RateLimitingStrategy:
        inner = RateLimit.make(self, config) if self.limited else None
        self.made.append(None)
        return RecordedStrategy(inner, self.writer() * 1000 + len(self.made), self.history, self.writer)
