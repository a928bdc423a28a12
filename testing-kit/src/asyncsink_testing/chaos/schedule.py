"""Who is killed and when: dealt beforehand from a seed, so that every kind has its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Literal, get_args

Victim = Literal["worker", "driver", "destination", "planner", "commit process"]
VICTIMS: tuple[Victim, ...] = get_args(Victim)
Aim = Literal["write", "commit", "planning", "any"]
"""What the kill has to hit; ``any``: whatever goes on at a random instant after the kill before it."""

_DEALT: tuple[Victim, ...] = (
    "worker", "driver", "destination", "planner", "commit process",
    "worker", "driver", "destination", "worker", "driver", "planner", "commit process",
)  # fmt: skip
"""In turn: of five kills or more each has one; a driver, which takes seconds to start again, has a quarter."""

_WRITES, _COMMITS, _PLANNINGS = 0.55, 0.25, 0.08
LEAST_WRITES, LEAST_COMMITS = 0.5, 0.2
"""The shares that must have been hit in the end, or the run has not shown what it is for."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill as it is planned."""

    number: int
    victim: Victim
    aim: Aim


def schedule(kills: int, random: Random, victims_of: Sequence[Victim] = VICTIMS) -> list[Kill]:
    """So many kills, in random order.

    :param victims_of: what can be killed of the sink; some destinations cannot
    """
    dealt = [each for each in _DEALT if each in victims_of]
    victims = [dealt[number % len(dealt)] for number in range(kills)]
    writes, commits = ceil(_WRITES * kills), ceil(_COMMITS * kills)
    plannings = int(_PLANNINGS * kills)
    shares: list[tuple[Aim, int]] = [("write", writes), ("commit", commits), ("planning", plannings), ("any", kills)]
    aims = [aim for aim, count in shares for _ in range(count)][:kills]
    random.shuffle(victims)
    random.shuffle(aims)
    return [Kill(number, victim, aim) for number, (victim, aim) in enumerate(zip(victims, aims, strict=True), start=1)]
