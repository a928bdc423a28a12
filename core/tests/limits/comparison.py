"""All strategies in all scenarios, on every processor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from math import isnan

from .figures import Figures, figures, missed
from .run import Recording, run
from .scenario import Scenario, scenarios
from .strategies import STRATEGIES, compared


@dataclass(frozen=True, slots=True)
class Result:
    """One strategy in one scenario."""

    scenario: Scenario
    strategy: str
    recording: Recording
    figures: Figures

    @property
    def missed(self) -> list[str]:
        """The figures that miss what is wanted of every strategy."""
        return missed(self.scenario, self.figures)

    @property
    def unexpected(self) -> list[str]:
        """Sentences on the figures that lie outside of what the scenario expects of this strategy."""
        sentences = []
        for name, (low, high) in self.scenario.expected.get(self.strategy, {}).items():
            value = getattr(self.figures, name)
            if not low <= value <= high:
                sentences.append(f"{self.scenario.name}: {name} of {self.strategy} = {value:.4g}, not {low} to {high}")
        return sentences


def measure(task: tuple[Scenario, str]) -> Result:
    """Run one strategy in one scenario."""
    scenario, strategy = task
    recording = run(scenario, STRATEGIES[strategy](scenario))
    return Result(scenario, strategy, recording, figures(scenario, recording))


def compare(names: Iterable[str], *, held_out: bool | None = None, processes: int | None = None) -> Iterator[Result]:
    """Results in the order of scenarios and names, each as soon as it and all before are there."""
    pairs = ((scenario, name) for scenario in scenarios(held_out=held_out) for name in names)
    tasks = [each for each in pairs if compared(*each)]
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(measure, tasks)


COLUMNS = {
    "accepted": "accepted",
    "throttled": "throttled",
    "fairness": "fairness",
    "back_s": "back at 90 %",
    "lowest": "lowest",
    "start_throttled": "start: throttled",
    "start_s": "start: at 90 %",
}
"""The figures that are shown, and their headings."""

assert list(COLUMNS) == [each.name for each in fields(Figures)]


def shown(name: str, value: float) -> str:
    """A figure as it stands in the tables."""
    if isnan(value):
        return "-"
    if name.endswith("_s"):
        return "never" if value == float("inf") else f"{value:.1f} s"
    if name == "start_throttled":
        return f"{value * 5:.2f} s"  # of capacity: the figure is a share of the first 5 s
    return f"{value:.3f}" if name == "fairness" else f"{value:.1%}"


def met(results: Sequence[Result], strategy: str) -> tuple[int, int]:
    """In how many scenarios a strategy meets every figure that is wanted, and of how many."""
    own = [each for each in results if each.strategy == strategy]
    return sum(not each.missed for each in own), len(own)
