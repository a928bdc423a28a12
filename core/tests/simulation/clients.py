"""A client cache that makes each writer's backoff repeatable."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random

from asyncsink import AsyncSinkWriterConfig
from asyncsink.limits.limiter import Limiter, LimiterCache


class Jitter(Random):
    """Full jitter that is as good as none more often than chance would have it: over within a few looks at a clock.

    :ivar waitless: the share of waits that are
    """

    def __init__(self, seed: str, creep_s: float) -> None:
        super().__init__(seed)
        self._instant_s = 7 * creep_s
        self.waitless = 0.8 if creep_s else 0.1

    def uniform(self, a: float, b: float) -> float:
        if self.random() < self.waitless:
            b = min(b, self._instant_s)
        return a + (b - a) * self.random()


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
