"""A client cache that makes each writer's backoff repeatable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

from asyncsink import AsyncSinkWriterConfig
from asyncsink.limits.limiter import Limiter, LimiterCache


class SeededLimiters(LimiterCache):
    """Limiters whose jitter comes from a seeded generator."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._made: dict[Hashable, Limiter] = {}

    def limiter(self, scope: Hashable, config: AsyncSinkWriterConfig) -> Limiter:
        if scope not in self._made:
            self._made[scope] = Limiter(config.rate_limit.make(config), config.retry, self._random)
        return self._made[scope]


class SeededClients:
    """Connects for each lease; lends seeded limiters."""

    def __init__(self, random: Random) -> None:
        self._limiters = SeededLimiters(random)

    def limiters(self, fingerprint: str) -> LimiterCache:
        return self._limiters

    @asynccontextmanager
    async def lease(
        self, fingerprint: str, connect: Callable[[], AbstractAsyncContextManager[Any]]
    ) -> AsyncIterator[Any]:
        async with connect() as client:
            yield client
