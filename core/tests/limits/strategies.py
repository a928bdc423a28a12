"""The strategies that are compared, by the names under which scenarios expect figures of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from asyncsink import RateLimit

from .scenario import Scenario


def _fixed(scenario: Scenario) -> RateLimit:
    """What somebody sets who knows the capacity at the start, and how many limiters share it."""
    limiters = 1 if scenario.share_limiter else scenario.writers
    rate = scenario.capacity(0.0)
    # A burst beyond the destination's own would be throttled.
    burst = max(1.0, 0.02 * rate / limiters)
    return RateLimit.fixed(records=rate, burst=burst * limiters, writers=limiters)


STRATEGIES: Final[Mapping[str, Callable[[Scenario], RateLimit]]] = {
    "paced": lambda scenario: RateLimit.paced(),
    "aimd": lambda scenario: RateLimit.aimd(),
    "flink": lambda scenario: RateLimit.flink(),
    "adaptive": lambda scenario: RateLimit.adaptive(),
    "fixed": _fixed,
    "none": lambda scenario: RateLimit.none(),
}


def compared(scenario: Scenario, strategy: str) -> bool:
    """Whether a strategy is run in a scenario.

    Without any limit every second of 16 writers costs a minute, and shows what one writer shows as well.
    """
    return strategy != "none" or scenario.writers == 1
