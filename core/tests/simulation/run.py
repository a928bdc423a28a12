"""One seed: drawn, run in virtual time, judged; exactly the same each time."""

from __future__ import annotations

import gc
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import FrameType

import anyio
import trio

from asyncsink_testing import Fault, judge
from asyncsink_testing.scheduling import repeatable_scheduling

from .clock import VirtualClock
from .draw import draw
from .program import Program
from .scenario import Scenario

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
    faults: int
    virtual_s: float

    def __str__(self) -> str:
        lines = "\n  ".join(self.violations)
        return (
            f"seed {self.seed}: {len(self.violations)} violations\n  {lines}\n"
            f"  again: tox run -e simulate -- --runs 1 --seed {self.seed} --verbose"
        )


def drawn(seed: int) -> Scenario:
    """The scenario of a seed."""
    return draw(Random(f"{seed} scenario"))


def run_seed(seed: int, *, scenario: Scenario | None = None, verbose: bool = False) -> Report:
    """Run and judge one seed, or a scenario that was kept, with what this seed draws in its course."""
    program = Program(seed, drawn(seed) if scenario is None else scenario)
    history = program.destination.history
    broken: list[str] = []
    try:
        with repeatable_scheduling(seed), _processor_time(CPU_LIMIT_S), _uncollected():
            clock = VirtualClock(Random(f"{seed} clock"), program.scenario.creep_s, program.look)
            history.clock = lambda: clock.instant_s
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
    requests = history.requests
    faults = sum(request.step.fault is not Fault.OK for request in requests)
    end_s = history.events[-1].time_s if history.events else 0.0
    return Report(seed, tuple(broken), len(requests), len(history.expected), faults, end_s)


async def _bounded(program: Program) -> None:
    with anyio.fail_after(VIRTUAL_LIMIT_S):
        await program.run()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let the collector rest meanwhile: a seed is short, and what it leaves is collected between two seeds."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


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
