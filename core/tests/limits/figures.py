"""The figures of a run, and what is wanted of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

from .run import STEP_S, Recording
from .scenario import Scenario

SETTLING_S = 5.0
"""How long after a change of capacity the figures of steady operation do not count."""
WINDOW = round(1.0 / STEP_S)
"""Steps over which a rate is taken."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One strategy in one scenario. A figure that the scenario does not give is NaN.

    :param accepted: records taken, of the capacity; this and the next two after the warm-up, without the 5 s after
        each change of capacity, which has figures of its own
    :param throttled: records refused for load, of all offered
    :param fairness: Jain's index over the writers' records taken; 1 is even, 1/n is one takes all
    :param back_s: seconds from the growth of capacity until one second's rate reached 90 % of it; infinite: never
    :param lowest: the least rate of a second, of the capacity, in the 10 s after it fell
    :param start_throttled: records refused in the first 5 s, of the capacity of these 5 s
    :param start_s: seconds until one second's rate reached 90 % of the capacity
    """

    accepted: float
    throttled: float
    fairness: float
    back_s: float
    lowest: float
    start_throttled: float
    start_s: float


def figures(scenario: Scenario, recording: Recording) -> Figures:
    """Everything that is measured of a run."""
    counted = list(_counted(scenario, recording.steps))
    taken, offered = (sum(each[step] for step in counted) for each in (recording.taken, recording.offered))
    capacity = [scenario.capacity(step * STEP_S) * STEP_S for step in range(recording.steps)]
    early = round(5.0 / STEP_S)
    early_refused = sum(recording.offered[:early]) - sum(recording.taken[:early])
    return Figures(
        accepted=taken / sum(capacity[step] for step in counted),
        throttled=(offered - taken) / offered if offered else nan,
        fairness=_fairness(recording, counted),
        back_s=max((_reached(recording, capacity, at) for at in _changes(scenario, up=True)), default=nan),
        lowest=min((_lowest(recording, capacity, at) for at in _changes(scenario, up=False)), default=nan),
        start_throttled=early_refused / sum(capacity[:early]),
        start_s=_reached(recording, capacity, 0),
    )


def _fairness(recording: Recording, counted: Sequence[int]) -> float:
    if recording.writers < 2:
        return nan
    return jain([sum(each[step] for step in counted) for each in recording.taken_by])


def jain(amounts: Sequence[float]) -> float:
    """Jain's fairness index: (Σx)² / (n Σx²)."""
    squares = sum(each * each for each in amounts)
    return sum(amounts) ** 2 / (len(amounts) * squares) if squares else nan


def _counted(scenario: Scenario, steps: int) -> Iterator[int]:
    changes = [change.at_s for change in scenario.destination.changes]
    for step in range(round(scenario.warmup_s / STEP_S), steps):
        if not any(at_s <= step * STEP_S < at_s + SETTLING_S for at_s in changes):
            yield step


def _changes(scenario: Scenario, *, up: bool) -> Iterator[int]:
    """The steps at which the capacity grew, or fell to something above 0."""
    before = 1.0
    for change in scenario.destination.changes:
        if change.factor and (change.factor > before) == up:
            yield round(change.at_s / STEP_S)
        before = change.factor


def _reached(recording: Recording, capacity: Sequence[float], start: int) -> float:
    for end in range(start + WINDOW, recording.steps + 1):
        if sum(recording.taken[end - WINDOW : end]) >= 0.9 * sum(capacity[end - WINDOW : end]):
            return (end - start) * STEP_S
    return inf


def _lowest(recording: Recording, capacity: Sequence[float], start: int) -> float:
    last = min(recording.steps, start + round(10 / STEP_S))
    return min(
        sum(recording.taken[end - WINDOW : end]) / sum(capacity[end - WINDOW : end])
        for end in range(start + WINDOW, last + 1)
    )


TARGETS = {
    "accepted": (0.95, inf),
    "throttled": (-inf, 0.01),
    "fairness": (0.98, inf),
    "back_s": (-inf, 5.0),
    "lowest": (0.5, inf),
}
"""What is wanted of every scenario with fixed or changing capacity."""
UNHINTED_THROTTLED = 0.02
"""The share that may be throttled where the server gives no hints."""


def missed(scenario: Scenario, figures: Figures) -> list[str]:
    """The names of the figures that miss their target; one that the scenario does not give misses nothing."""
    names = []
    for name, (low, high) in TARGETS.items():
        value = getattr(figures, name)
        if name == "throttled" and not scenario.hints:
            high = UNHINTED_THROTTLED
        if not isnan(value) and not low <= value <= high:
            names.append(name)
    return names
