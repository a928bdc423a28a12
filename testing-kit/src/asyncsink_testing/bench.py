"""Benchmarks that can be believed on a noisy machine: ours and the peer in turn, and the ratio of each round."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

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
    """

    work: str
    ours: float
    peer: str
    unit: str
    peer_value: float
    ratio: float
    goal: float | None
    spread: tuple[float, float]

    @property
    def verdict(self) -> str:
        """Whether the goal is met; empty without one."""
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
) -> Comparison:
    """Compare figures that :func:`interleave` gathered round by round."""
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
    )


def _quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    if len(ratios) < 2:
        return ratios[0], ratios[0]
    low, _, high = quantiles(ratios, method="inclusive")
    return low, high


def report(comparisons: Sequence[Comparison], json_file: Path | None = None) -> None:
    """Print the comparisons as a table, and write them as a JSON list, without the spread, if a file is named."""
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
        figures = [asdict(each) for each in comparisons]
        for figure in figures:
            del figure["spread"]
        json_file.write_text(json.dumps(figures, indent=2) + "\n")


def arguments(description: str, *, rounds: int) -> argparse.Namespace:
    """The options that every benchmark takes: ``--json FILE`` and ``--rounds N``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON list")
    parser.add_argument("--rounds", type=int, default=rounds, help="counted rounds after one that warms up")
    return parser.parse_args()
