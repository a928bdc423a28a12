"""The cases that have found something: a bug of the writer, or one of the oracle.

``found_seeds.txt`` has a line for each: the seed, what it found, and the scenario as it was drawn then, as JSON, with
tabs between. The seed alone would mean another scenario as soon as anything is drawn differently; with the scenario
beside it the seed stands only for what happens in its course, for which each purpose has a generator of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .scenario import Scenario

FILE = Path(__file__).with_name("found_seeds.txt")


@dataclass(frozen=True, slots=True)
class Case:
    """A seed with its scenario, and what it found."""

    seed: int
    found: str
    scenario: Scenario

    def __str__(self) -> str:
        return "\t".join([str(self.seed), self.found, json.dumps(self.scenario.as_data(), separators=(",", ":"))])


def _read(line: str) -> Case:
    seed, found, scenario = line.split("\t")
    return Case(int(seed), found, Scenario.of_data(json.loads(scenario)))


FOUND = [_read(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
