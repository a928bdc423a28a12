"""The comparison as one HTML page with plots; nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .comparison import COLUMNS, Result, met, shown
from .plot import Line, plot
from .run import STEP_S, Recording

POINT = round(0.5 / STEP_S)
"""Steps that make one point of a plot."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.missed { color: #b00020; font-weight: 600; }
.plots { display: flex; flex-wrap: wrap; gap: 1em; }
figure { margin: 0; } figcaption { font-weight: 600; }
.key span { margin-right: 1.5em; } .key i { display: inline-block; width: 1.5em; height: 3px; margin-right: .4em;
 vertical-align: middle; }
"""

COLOURS = {"capacity": "#999999", "offered": "#1f77b4", "accepted": "#2ca02c", "throttled": "#d62728"}
LIMIT = "#9467bd"

INTRODUCTION = """
<p>Each scenario is a file: a destination with a capacity, and writers with an always full source, each with a limiter
of its own unless they share one. The writers are the real ones; time is virtual. Wanted of every strategy: at least
95 % of the capacity accepted; fewer than 1 % of the records throttled, or 2 % where the destination gives no hints;
Jain's fairness over the writers of at least 0.98; back at 90 % within 5 s after the capacity has grown; never below
half of it for a second after it has fallen. The first three are taken after the warm-up and without the 5 s after
each change. <span class="missed">What misses its figure is red.</span> Start: records throttled in the first 5 s, in
seconds' worth of capacity, and when 90 % of it was reached first. Parameters are tuned on the training set only.</p>
"""


def page(results: Sequence[Result]) -> str:
    """The whole page."""
    names = dict.fromkeys(each.scenario.name for each in results)
    parts = [_section([each for each in results if each.scenario.name == name]) for name in names]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rate limiting strategies</title>'
        f"<style>{STYLE}</style></head><body><h1>Rate limiting strategies, side by side</h1>{INTRODUCTION}"
        f"{_key()}{_overview(results)}{''.join(parts)}</body></html>\n"
    )


def _key() -> str:
    items = (
        f'<span><i style="background:{colour}"></i>{name}</span>'
        for name, colour in [*COLOURS.items(), ("limit", LIMIT)]
    )
    return f'<p class="key">{"".join(items)}</p>'


def _overview(results: Sequence[Result]) -> str:
    rows = []
    for strategy in dict.fromkeys(each.strategy for each in results):
        cells = []
        for held_out in (False, True):
            good, count = met([each for each in results if each.scenario.held_out == held_out], strategy)
            cells.append(f"<td>{good} of {count}</td>")
        rows.append(f"<tr><td>{escape(strategy)}</td>{''.join(cells)}</tr>")
    heading = "<tr><th>every figure met in</th><th>training</th><th>held out</th></tr>"
    return f"<table>{heading}{''.join(rows)}</table>"


def _section(results: Sequence[Result]) -> str:
    scenario = results[0].scenario
    held_out = " (held out)" if scenario.held_out else ""
    headings = "".join(f"<th>{escape(each)}</th>" for each in COLUMNS.values())
    rows = "".join(map(_row, results))
    top = 1.6 * max(scenario.capacity(step * STEP_S) for step in range(results[0].recording.steps))
    plots = "".join(_plots(result, top) for result in results)
    return (
        f'<h2 id="{scenario.name}">{escape(scenario.title)}{held_out}</h2>'
        f"<table><tr><th>strategy</th>{headings}</tr>{rows}</table>"
        f'<div class="plots">{plots}</div>'
    )


def _row(result: Result) -> str:
    cells = [f"<td>{escape(result.strategy)}</td>"]
    for name in COLUMNS:
        kind = ' class="missed"' if name in result.missed else ""
        cells.append(f"<td{kind}>{shown(name, getattr(result.figures, name))}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _plots(result: Result, top: float) -> str:
    recording, scenario = result.recording, result.scenario
    times = [(point + 0.5) * POINT * STEP_S for point in range(recording.steps // POINT)]
    offered, accepted = _rates(recording.offered, times), _rates(recording.taken, times)
    throttled = [each - taken for each, taken in zip(offered, accepted, strict=True)]
    capacity = [scenario.capacity(at_s) for at_s in times]
    series = {"capacity": capacity, "offered": offered, "accepted": accepted, "throttled": throttled}
    rates = plot([Line(COLOURS[name], values) for name, values in series.items()], times, top, "records/s")
    limits = _limits(recording, len(times))
    limit = plot([Line(LIMIT, limits)], times, 1.1 * max(limits, default=1.0) or 1.0, "limit", height=90)
    return f"<figure><figcaption>{escape(result.strategy)}</figcaption>{rates}<br>{limit}</figure>"


def _rates(counts: Sequence[int], times: Sequence[float]) -> list[float]:
    span = POINT * STEP_S
    return [sum(counts[point * POINT : (point + 1) * POINT]) / span for point in range(len(times))]


def _limits(recording: Recording, points: int) -> list[float]:
    return [recording.limits[(point + 1) * POINT - 1] for point in range(points)]
