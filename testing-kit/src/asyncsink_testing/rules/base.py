"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from asyncsink_testing.history import Event, History
from asyncsink_testing.ledger import EPSILON_S, Ledger

__all__ = ["EPSILON_S", "Rule", "RuleMaker", "shown"]


class Rule:
    """Looks at each event of its kinds before the writer's ledger takes note of it, and at all ledgers in the end.

    Both yield a sentence for each violation: what was lost, doubled or out of place, and where to look.
    """

    name: ClassVar[str]
    events: ClassVar[tuple[type[Event], ...]] = ()

    def __init__(self, history: History) -> None:
        self.history = history

    def check(self, event: Any, ledger: Ledger) -> Iterable[str]:
        return ()

    def finish(self, ledgers: Sequence[Ledger]) -> Iterable[str]:
        return ()


RuleMaker = Callable[[History], Rule]


def shown(entries: Iterable[Any], most: int = 5) -> str:
    """The first few of some entries, for a message."""
    listed = list(entries)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(repr(each) for each in listed[:most]) + more
