"""The figures as text: for a terminal, and as Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .comparison import COLUMNS, Result, met, shown


def text(results: Sequence[Result]) -> str:
    """A table for each scenario; a figure that misses its target carries an exclamation mark."""
    lines: list[str] = []
    for scenario in dict.fromkeys(each.scenario.name for each in results):
        own = [each for each in results if each.scenario.name == scenario]
        held_out = " (held out)" if own[0].scenario.held_out else ""
        lines += ["", f"{scenario}{held_out}: {own[0].scenario.title}"]
        lines.append(f"  {'':<10}" + "".join(f"{heading:>18}" for heading in COLUMNS.values()))
        for result in own:
            cells = (f"{cell:>18}" for cell in _cells(result, "!"))
            lines.append(f"  {result.strategy:<10}" + "".join(cells))
    return "\n".join([*lines, "", *_summary(results)])


def _summary(results: Sequence[Result]) -> list[str]:
    strategies = dict.fromkeys(each.strategy for each in results)
    lines = []
    for strategy in strategies:
        counts = []
        for held_out, name in ((False, "training"), (True, "held out")):
            good, count = met([each for each in results if each.scenario.held_out == held_out], strategy)
            counts.append(f"{good} of {count} ({name})")
        lines.append(f"{strategy}: every figure met in " + ", ".join(counts))
    return lines


def _cells(result: Result, mark: str) -> Iterable[str]:
    for name in COLUMNS:
        cell = shown(name, getattr(result.figures, name))
        yield f"{cell} {mark}" if name in result.missed else cell


INTRODUCTION = """\
# Rate limiting strategies, measured

Real writers with an always full source send to a destination with a capacity, in virtual time; each writer has a
limiter of its own, as in a process of its own, unless they share one. Wanted of every strategy:

- *accepted*: at least 95 % of the capacity;
- *throttled*: fewer than 1 % of the records offered, or 2 % where the destination gives no hints such as Retry-After;
- *fairness*: Jain's index over the writers of at least 0.98;
- *back at 90 %*: within 5 s after the capacity has grown;
- *lowest*: never below half of the capacity for a second, after it has fallen.

The first three are taken after a warm-up and without the 5 s after each change of capacity. **Bold figures miss** what
is wanted. *Start* says how many seconds' worth of capacity was throttled in the first 5 s, and when 90 % was reached
first. Parameters were tuned on the other scenarios, never on those that are held out. What an earlier `paced` missed in
two of the latter, an outage and hints of whole seconds, was known when scenarios like them were added to tune on: these
two judge it less strictly. `fixed` knows the capacity at the start and is not told of changes; `none` is left out where
there are many writers.

`tox run -e limits` measures anew and draws it all: offered, accepted, throttled and the limit over time.

"""


def markdown(results: Sequence[Result]) -> str:
    """One table of all, as it stands in the documentation; figures that miss their target are bold."""
    headings = ["Scenario", "Strategy", *COLUMNS.values()]
    lines = [f"| {' | '.join(headings)} |", "|" + " --- |" * len(headings)]
    before = ""
    for result in results:
        scenario = result.scenario
        title = scenario.title + (" (held out)" if scenario.held_out else "")
        cells = [title if scenario.name != before else "", result.strategy]
        for name in COLUMNS:
            cell = shown(name, getattr(result.figures, name))
            cells.append(f"**{cell}**" if name in result.missed else cell)
        lines.append(f"| {' | '.join(cells)} |")
        before = scenario.name
    return INTRODUCTION + "\n".join(lines) + "\n"
