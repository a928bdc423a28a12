"""Judges a history by small named rules: what was sent, received and scripted says what must not have happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from asyncsink_testing.history import Event, History, Opened
from asyncsink_testing.ledger import Ledger, ledger_of
from asyncsink_testing.rules import RULES, Rule, RuleMaker

Check = tuple[str, Callable[[Event, Ledger], Iterable[str]]]


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a history breaks, where, and a sentence on what to look at."""

    rule: str
    time_s: float
    message: str

    def __str__(self) -> str:
        return f"[{self.rule}] t={self.time_s:.6g}: {self.message}"


def judge(history: History, rules: Iterable[RuleMaker] = RULES, most: int = 20) -> list[Violation]:
    """Read a history once and say what is wrong with it; at most so many violations a rule."""
    judges = [make(history) for make in rules]
    found: list[Violation] = []
    ledgers: dict[int, Ledger] = {}
    checks: dict[type[Event], list[Check]] = {}
    for event in history.events:
        if type(event) is Opened:
            ledgers[event.writer] = ledger_of(event)
            ledgers[event.writer].all_ledgers = ledgers
        ledger = ledgers.get(event.writer)
        if ledger is not None:
            ledger.expire(event.time_s)
            if type(event) not in checks:
                checks[type(event)] = _checks(judges, type(event))
            for name, ask in checks[type(event)]:
                for message in ask(event, ledger):
                    found.append(Violation(name, event.time_s, message))  # noqa: PERF401  # twice as fast: mostly none
            ledger.apply(event)
    end_s = history.events[-1].time_s if history.events else 0.0
    for rule in judges:
        found += [Violation(rule.name, end_s, message) for message in rule.finish(list(ledgers.values()))]
    return _at_most(found, most)


def _checks(judges: Sequence[Rule], kind: type[Event]) -> list[Check]:
    """What the rules ask of events of one kind."""
    return [(rule.name, rule.check) for rule in judges if issubclass(kind, rule.events)]


def _at_most(found: list[Violation], most: int) -> list[Violation]:
    seen: dict[str, int] = {}
    kept = []
    for violation in found:
        seen[violation.rule] = seen.get(violation.rule, 0) + 1
        if seen[violation.rule] <= most:
            kept.append(violation)
    return kept


def check(history: History, rules: Iterable[RuleMaker] = RULES) -> None:
    """Like :func:`judge`, for tests.

    :raises AssertionError: a rule is broken; the message holds every violation
    """
    violations = judge(history, rules)
    if violations:
        raise AssertionError(f"{len(violations)} violations:\n" + "\n".join(map(str, violations)))
