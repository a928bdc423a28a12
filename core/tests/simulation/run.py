"""One seed: drawn, run in virtual time, judged; exactly the same each time."""

from __future__ import annotations

import importlib
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import FrameType
from typing import Any

import anyio
import trio
import trio.testing

from asyncsink_testing import judge

from .program import Program
from .scenario import draw

VIRTUAL_LIMIT_S = 100_000.0
"""Virtual seconds after which a program counts as one that hangs: none has that long to wait."""
CPU_LIMIT_S = 8.0
"""Seconds of processor time after which a program counts as one that spins."""


class SpinningError(BaseException):
    """The program used up its processor time without letting time pass."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a seed; `violations` is empty if all is well."""

    seed: int
    violations: tuple[str, ...]
    requests: int
    entries: int
    virtual_s: float

    def __str__(self) -> str:
        lines = "\n  ".join(self.violations)
        return (
            f"seed {self.seed}: {len(self.violations)} violations\n  {lines}\n"
            f"  again: python core/tests/simulation --seeds 1 --from {self.seed} --verbose"
        )


def run_seed(seed: int, *, verbose: bool = False) -> Report:
    """Run and judge one seed."""
    random = Random(seed)
    program = Program(seed, draw(random), random)
    history = program.destination.history
    broken: list[str] = []
    try:
        with _repeatable_scheduling(seed), _processor_time(CPU_LIMIT_S):
            clock = trio.testing.MockClock(autojump_threshold=0)
            trio.run(_bounded, program, clock=clock)
    except TimeoutError:
        broken.append(f"[ends] the program had not ended after {VIRTUAL_LIMIT_S:.0f} virtual seconds: something hangs")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        broken.append("[raises] " + "".join(traceback.format_exception(error))[-3000:])
    broken += map(str, judge(history))
    if verbose:
        for event in history.events:
            print(event)  # noqa: T201
    end_s = history.events[-1].time_s if history.events else 0.0
    return Report(seed, tuple(broken), len(history.requests), len(history.expected), end_s)


async def _bounded(program: Program) -> None:
    with anyio.fail_after(VIRTUAL_LIMIT_S):
        await program.run()


@contextmanager
def _repeatable_scheduling(seed: int) -> Iterator[None]:
    """Seed the order in which trio runs its tasks: it shuffles them, on purpose, by a generator of its own.

    trio's own tests and Hypothesis do the same; there is no public way.
    """
    scheduler: Any = importlib.import_module("trio._core._run")
    before = scheduler._ALLOW_DETERMINISTIC_SCHEDULING
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(seed)
    try:
        yield
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = before


@contextmanager
def _processor_time(limit_s: float) -> Iterator[None]:
    """Raise in the middle of whatever spins; virtual time alone cannot tell."""

    def spinning(number: int, frame: FrameType | None) -> None:
        raise SpinningError(f"{limit_s} s of processor time are used up")

    before = signal.signal(signal.SIGVTALRM, spinning)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
