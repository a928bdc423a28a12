"""A client cache for tests: what outlives a writer is what it has learned, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from asyncsink.limits.limiter import LimiterCache

ClientT = TypeVar("ClientT")


class FreshClients:
    """A :class:`~asyncsink.context.ClientCache` that connects anew for each lease, and lends the same limiters."""

    def __init__(self, cache: LimiterCache | None = None) -> None:
        self.cache = LimiterCache() if cache is None else cache

    def limiters(self, fingerprint: str) -> LimiterCache:
        return self.cache

    def lease(
        self, fingerprint: str, connect: Callable[[], AbstractAsyncContextManager[ClientT]]
    ) -> AbstractAsyncContextManager[ClientT]:
        return connect()
