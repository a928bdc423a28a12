"""A limiter scenario: a destination with capacity, the writers that send to it, and what is expected of a strategy."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asyncsink import AsyncSinkWriterConfig
from asyncsink_testing.capacity import CapacityChange, CapacityModel

FOLDER = Path(__file__).parent / "scenarios"

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One file of ``scenarios/``.

    :param name: the file's, without ending
    :param held_out: whether it stands in ``held-out``, which tuning never looks at
    :param writers: each with a limiter of its own, as in as many processes
    :param share_limiter: all writers share one limiter, as in one process
    :param warmup_s: what comes before is left out of every figure but the cost of the start
    :param entry_bytes: the size of each entry
    :param expected: ranges of figures by strategy; a figure outside of its range fails the scenario
    """

    name: str
    held_out: bool
    title: str
    destination: CapacityModel
    writers: int = 1
    share_limiter: bool = False
    duration_s: float = 50.0
    warmup_s: float = 10.0
    seed: int = 1
    entry_bytes: int = 100
    writer: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Mapping[str, Range]] = field(default_factory=dict)

    @property
    def config(self) -> AsyncSinkWriterConfig:
        """The writers' configuration; its rate limit is still to be replaced."""
        return AsyncSinkWriterConfig(**self.writer)

    @property
    def hints(self) -> bool:
        """Whether a throttle says when to come back."""
        return self.destination.hint_step_s is not None

    def capacity(self, now_s: float) -> float:
        """Entries a second that the destination takes at a time, whatever the quota counts."""
        model = self.destination
        by_size = model.bytes_per_s / self.entry_bytes
        return min(model.records_per_s, by_size) * model.factor(now_s)


def load(path: Path) -> Scenario:
    """Read one file; a key that is not known is a TypeError."""
    data = tomllib.loads(path.read_text("utf-8"))
    destination = data.pop("destination")
    changes = tuple(CapacityChange(**each) for each in destination.pop("changes", ()))
    expected = {
        strategy: {figure: (low, high) for figure, (low, high) in ranges.items()}
        for strategy, ranges in data.pop("expected", {}).items()
    }
    return Scenario(
        name=path.stem,
        held_out=path.parent.name == "held-out",
        destination=CapacityModel(**destination, changes=changes),
        expected=expected,
        **data,
    )


def scenarios(*, held_out: bool | None = None) -> Iterator[Scenario]:
    """All scenarios by name, those of training first; or those of one set only."""
    for folder in ("training", "held-out"):
        if held_out in (None, folder == "held-out"):
            yield from (load(path) for path in sorted((FOLDER / folder).glob("*.toml")))
