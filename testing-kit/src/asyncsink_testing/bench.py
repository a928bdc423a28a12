"""Benchmarks that can be believed on a noisy machine: ours and the peer in turn, and the ratio of each round."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

Run = Callable[[], float]
"""Does the work once and returns its figure, such as ns per entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One kind of work, done by us and by a peer.

    :param work: what is done
    :param peer: what ours ran against, with its version where it has one
    :param unit: of both figures
    :param ours: our figure, the median over the rounds
    :param peer_value: the peer's, likewise
    :param ratio: the median of each round's own ratio; above 1 means that ours is better
    :param goal: the ratio that is wanted, or None if there is nothing to reach
    :param spread: the quartiles of the rounds' ratios
    :param difference: the median of each round's own difference, ours less the peer's; None unless it is what counts
    :param most_above: the difference that is allowed, in `unit`, or None where the ratio counts
    """

    work: str
    ours: float
    peer: str
    unit: str
    peer_value: float
    ratio: float
    goal: float | None
    spread: tuple[float, float]
    difference: float | None = None
    most_above: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the goal is met; empty without one."""
        if self.difference is not None and self.most_above is not None:
            met = "met" if self.difference <= self.most_above else "MISSED"
            return f"{self.difference:+.1f} {self.unit}, goal at most {self.most_above:+.3g}: {met}"
        if self.goal is None:
            return ""
        return f"goal {self.goal:.3g}: {'met' if self.ratio >= self.goal else 'MISSED'}"


def interleave(runs: Mapping[str, Run], rounds: int) -> dict[str, list[float]]:
    """Run every variant once a round, in an order that rotates, so that a drift of the machine hits all alike."""
    names = list(runs)
    figures: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            figure = runs[name]()
            if turn:  # the first round warms up
                figures[name].append(figure)
    return figures


def compare(
    work: str,
    ours: Sequence[float],
    peer: str,
    peer_values: Sequence[float],
    *,
    unit: str,
    goal: float | None = None,
    lower_is_better: bool = True,
    most_above: float | None = None,
) -> Comparison:
    """Compare figures that :func:`interleave` gathered round by round.

    :param most_above: where the goal is no ratio but a difference: by how much ours may be above the peer's
    """
    pairs = list(zip(ours, peer_values, strict=True))
    ratios = [theirs / own if lower_is_better else own / theirs for own, theirs in pairs]
    return Comparison(
        work=work,
        ours=median(ours),
        peer=peer,
        unit=unit,
        peer_value=median(peer_values),
        ratio=median(ratios),
        goal=goal,
        spread=_quartiles(ratios),
        difference=None if most_above is None else median(own - theirs for own, theirs in pairs),
        most_above=most_above,
    )


def _quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    if len(ratios) < 2:
        return ratios[0], ratios[0]
    low, _, high = quantiles(ratios, method="inclusive")
    return low, high


def report(comparisons: Sequence[Comparison], json_file: Path | None = None) -> None:
    """Print the comparisons as a table, and write them as a JSON list, without the spread, if a file is named.

    In the list `difference` and `most_above` stand with those comparisons only whose goal is a difference.
    """
    width, peers = (
        max(map(len, names)) for names in zip(*((each.work, each.peer) for each in comparisons), strict=True)
    )
    for each in comparisons:
        low, high = each.spread
        line = (
            f"{each.work:<{width}}  {each.ours:10.1f} {each.unit}  against {each.peer_value:10.1f}"
            f"  {each.peer:<{peers}}  ratio {each.ratio:.3f} ({low:.3f} to {high:.3f})  {each.verdict}"
        )
        sys.stdout.write(f"{line.rstrip()}\n")
    if json_file is not None:
        json_file.write_text(json.dumps([_figures(each) for each in comparisons], indent=2) + "\n")


def _figures(comparison: Comparison) -> dict[str, Any]:
    left_out = {"spread"} if comparison.most_above is not None else {"spread", "difference", "most_above"}
    return {name: value for name, value in asdict(comparison).items() if name not in left_out}


def arguments(description: str, *, rounds: int) -> argparse.Namespace:
    """The options that every benchmark takes: ``--json FILE`` and ``--rounds N``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON list")
    parser.add_argument("--rounds", type=int, default=rounds, help="counted rounds after one that warms up")
    return parser.parse_args()
