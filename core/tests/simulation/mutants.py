"""One-line bugs in the writer, each of which the simulation must see."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .run import run_seed


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug: in the writer's `module`, `old` reads `new`."""

    name: str
    module: str
    old: str
    new: str


MUTANTS: tuple[Mutant, ...] = (
    Mutant("requeue-at-the-tail", "engine", "lane.give_back(run)", "lane.append(run, run.size_in_bytes)"),
    Mutant("never-seal", "settlement", "request.sealed = True", "request.sealed = False"),
    Mutant("lose-a-failed-entry", "sorting", "chosen.append(at)", "chosen[:] = [at]"),
    Mutant("count-failed-as-acknowledged", "settlement", "len(request) - entries.count", "len(request)"),
    Mutant("hold-bytes-for-ever", "settlement", "entries.size_in_bytes - request.size_in_bytes", "0"),
    Mutant("never-complete-in-the-limiter", "engine", "scope.limiter.end(", "id("),
    Mutant(
        "age-timer-never-armed", "timekeeper", "if self._age_deadline_s == inf:", "if self._age_deadline_s == -1.0:"
    ),
    Mutant("age-timer-sends-nothing", "timekeeper", "lane.due_before = engine.next_sequence", "pass"),
    Mutant("full-buffer-waits", "engine", "while not self.in_flight and self._is_full()", "while False"),
    Mutant(
        "no-plan-after-an-answer",
        "engine",
        "lane.scope.limiter.wake(self.plan_again)\n        self.plan()",
        "lane.scope.limiter.wake(self.plan_again)",
    ),
    Mutant("one-too-many-in-flight", "dispatch", "len(self.in_flight) >= most", "len(self.in_flight) > most"),
    Mutant("scope-takes-every-slot", "dispatch", "max(1, self._most_requests - 1)", "10**9"),
    Mutant(
        "cut-at-half-time",
        "timekeeper",
        "request.start_s + timeout_s > now_s",
        "request.start_s + timeout_s / 2 > now_s",
    ),
    Mutant(
        "no-backoff",
        "settlement",
        "limiter.back_off(request.scope_start, now_s, outcome",
        "limiter.back_off(0, now_s, outcome",
    ),
    Mutant(
        "retry-after-ignored",
        "settlement",
        "now_s, outcome.retry_after_s, outcome.error)",
        "now_s, None, outcome.error)",
    ),
    Mutant("ids-reused-after-a-restart", "writer", "{context.attempt}.{uuid4().hex[:8]}-", "0-"),
    Mutant("attempt-not-counted", "request", "self._attempt + 1", "self._attempt"),
    Mutant("batch-over-its-bytes", "buffer", "if size + part > size_limit:", "if part > size_limit:"),
    Mutant("snapshot-without-parked", "holdings", "engine.parked:\n        yield run", "():\n        yield run"),
    Mutant("snapshot-without-sealed", "holdings", "yield from sealed.pieces", "yield from ()"),
    Mutant("snapshot-without-in-flight", "holdings", "yield from request.pieces", "yield from ()"),
    Mutant(
        "late-answer-ignored", "settlement", "            request.lane.sealed.remove(request)\n", "            return\n"
    ),
    Mutant("late-answer-after-the-resend", "settlement", "or request not in request.lane.sealed", ""),
    Mutant("late-answer-frees-no-seal", "settlement", "request.lane.sealed.remove(request)", "pass"),
    Mutant("two-entries-of-a-key-in-a-request", "keyed", "if self._atomic or line is self._loose:", "if True:"),
    Mutant("backoff-frees-the-key", "engine", "        lane.hold((run,))\n", ""),
    Mutant("unparked-but-held", "timekeeper", "            lane.free((run,))\n", ""),
    Mutant(
        "key-never-freed",
        "settlement",
        "                    request.lane.free(request.pieces)",
        "                    pass",
    ),
    Mutant("newest-of-a-key-first", "keyed", "extendleft(reversed(entries))", "extend(entries)"),
    Mutant("halves-of-a-key-at-once", "settlement", "            second.after = first.path\n", ""),
    Mutant("half-lost", "settlement", "        for half in (first, second):\n", "        for half in (first,):\n"),
    Mutant("halves-with-one-id", "request", "(*self.path, which)", "(*self.path, 0)"),
    Mutant(
        "throttled-half-cut-anew",
        "settlement",
        "if outcome.kind is FailureKind.THROTTLED and (request.path or self._engine.cuts is not None):",
        "if False:",
    ),
    Mutant(
        "refused-without-bisecting", "settlement", "        if len(request) > 1:\n", "        if len(request) > 3:\n"
    ),
    Mutant("refusal-told-as-load", "settlement", "ignored=rejects)", "ignored=False)"),
    Mutant("last-attempt-too-late", "sorting", "if each.run.attempts >= limits", "if each.run.attempts > limits"),
    Mutant("dropped-bytes-held", "rejecting", "            engine.size_in_bytes -= run.size_in_bytes\n", ""),
    Mutant("dead-letter-forgotten", "rejecting", "self._queue.put(letters)", "self._queue.put(letters[1:])"),
    Mutant("flush-before-dead-letters", "flushing", "        await self._rejections.flush()\n", ""),
    Mutant("snapshot-without-condemned", "holdings", "    yield from engine.condemned\n", ""),
    Mutant(
        "rejected-share-never-judged", "flushing", "check_rejected(engine.config.max_rejected,", "check_rejected(1.0,"
    ),
    Mutant("timeout-does-not-fail", "settlement", "if self._engine.config.fail_on_timeout:", "if False:"),
    Mutant(
        "neighbour-never-woken", "engine", "            lane.scope.limiter.wake(self.plan_again)", "            pass"
    ),
    Mutant(
        "alarm-forgets-what-was-asked-while-it-rang",
        "timekeeper",
        "min(self.target_s, self._next_s())",
        "self._next_s()",
    ),
    Mutant("snapshot-out-of-order", "holdings", "key=lambda each: each[0])", "key=lambda each: -each[0])"),
)


QUICK = (
    "requeue-at-the-tail",
    "never-seal",
    "lose-a-failed-entry",
    "count-failed-as-acknowledged",
    "hold-bytes-for-ever",
    "never-complete-in-the-limiter",
    "no-plan-after-an-answer",
    "one-too-many-in-flight",
    "cut-at-half-time",
    "retry-after-ignored",
    "ids-reused-after-a-restart",
    "attempt-not-counted",
    "batch-over-its-bytes",
    "snapshot-without-sealed",
    "snapshot-out-of-order",
)
"""Mutants that a few seeds see, so that they can be tried in every run of the tests."""
BASES = (0, 1_000_000, 77_000_000)
"""Where the seeds begin that are tried on a mutant."""
MOST_RUNS = 500
"""How many seeds from each base may be tried until one of them sees the mutant."""


def runs_to_find(mutant: Mutant, base: int, most: int = MOST_RUNS) -> int | None:
    """How many seeds it takes from `base` on until one breaks a rule; None if none does."""
    with applied(mutant):
        return next((runs for runs in range(1, most + 1) if run_seed(base + runs - 1).violations), None)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The writer with a bug in it, in memory: each function of the module gets the code that the bug makes of it.

    :raises LookupError: the text that the bug replaces does not stand in the module exactly once
    """
    module = importlib.import_module(f"asyncsink.writer.{mutant.module}")
    path = Path(str(module.__file__))
    source = path.read_text()
    count = source.count(mutant.old)
    if count != 1:
        raise LookupError(f"mutant {mutant.name}: {mutant.old!r} stands {count} times in {path.name}; it must once")
    broken = ModuleType(module.__name__)
    exec(compile(source.replace(mutant.old, mutant.new), str(path), "exec"), vars(broken))
    sound: list[tuple[FunctionType, CodeType]] = []
    originals, mutated = _functions(module), _functions(broken)
    try:
        for name, function in originals.items():
            sound.append((function, function.__code__))
            function.__code__ = mutated[name].__code__
        yield
    finally:
        for function, code in sound:
            function.__code__ = code


def _functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions and methods that a module defines, by qualified name."""
    own: list[Any] = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    classes = [value for value in own if isinstance(value, type)]
    values = own + [member for each in classes for member in vars(each).values()]
    values += [value.fget for value in values if isinstance(value, property)]
    return {value.__qualname__: value for value in values if type(value) is FunctionType}
