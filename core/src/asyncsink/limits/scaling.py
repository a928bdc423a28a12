"""How a congestion-controlled budget moves: FLIP-242's "how much"."""

from __future__ import annotations

from math import floor
from typing import Protocol

from asyncsink.limits.strategy import ResultInfo


class ScalingStrategy(Protocol):
    """Moves a budget after an answer (FLIP-242). Pure arithmetic; what it needs to know of time is in `result`.

    An instance belongs to one rate limiting strategy. Write your own with these two methods; the budget that they
    return is kept between 1 and the ceiling of the rate limiting strategy.
    """

    def scale_up(self, current: int, result: ResultInfo) -> int:
        """The budget after `result`, a request that was stored whole."""
        ...

    def scale_down(self, current: int, result: ResultInfo) -> int:
        """The budget after `result`, a request of which something was not stored."""
        ...


class AIMDScalingStrategy:
    """Additive increase, multiplicative decrease, with Flink's arithmetic: half-up rounding, never below 1.

    :param ceiling: the largest budget
    :param increase: added by a success
    :param factor: multiplied by a failure, above 0 and below 1
    :raises ValueError: a parameter is outside these bounds, or the ceiling below the increase
    """

    __slots__ = ("_ceiling", "_factor", "_increase")

    def __init__(self, ceiling: int, increase: int = 10, factor: float = 0.5) -> None:
        if increase <= 0:
            raise ValueError(f"increase = {increase} must be larger than 0")
        if not 0 < factor < 1:
            raise ValueError(f"factor = {factor} must lie between 0 and 1")
        if ceiling < increase:
            raise ValueError(f"ceiling = {ceiling} must be at least increase = {increase}")
        self._ceiling, self._increase, self._factor = ceiling, increase, factor

    def scale_up(self, current: int, result: ResultInfo | None = None) -> int:
        return min(self._ceiling, current + self._increase)

    def scale_down(self, current: int, result: ResultInfo | None = None) -> int:
        # Java's Math.round: half up, where Python's round goes to the even neighbour.
        return max(1, floor(current * self._factor + 0.5))


class NoOpScalingStrategy:
    """Leaves the budget as it is: a fixed bound of what is in flight."""

    __slots__ = ()

    def scale_up(self, current: int, result: ResultInfo | None = None) -> int:
        return current

    def scale_down(self, current: int, result: ResultInfo | None = None) -> int:
        return current
