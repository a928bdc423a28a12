"""How the last attempt of a sink that commits in two phases stands, by its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from asyncsink.ledger import Store
from asyncsink.transactions.log import Decision, Outcome, TransactionLog

_MEANINGS: Final[Mapping[str, str]] = {
    "begun": "begun, and nothing is decided: writers may be at work",
    "prepared": "decided: what is prepared is being committed, or waits for the next start",
    "committed": "committed",
    "abandoned": "given up",
    "skipped": "only repeated a batch that was committed before",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last attempt at a batch.

    :param number: counts the attempts of this sink
    :param state: ``begun``, ``prepared``, ``committed``, ``abandoned`` or ``skipped``
    """

    number: int
    state: str

    def __str__(self) -> str:
        return f"{self.number}, {_MEANINGS[self.state]}"


def last_attempt(store: Store) -> Attempt | None:
    """The last attempt of the log in the folder of a sink; None if it commits nothing, or has begun nothing yet.

    :raises LedgerError: the log cannot be read
    """
    log = TransactionLog(store)
    known = log.generations()
    if not known.begun:
        return None
    if known.is_finished:
        return Attempt(known.begun, "committed")
    decided = log.decision(known.begun)
    return Attempt(known.begun, "begun" if decided is None else decided.outcome.value)


def last_committed(store: Store) -> Decision | None:
    """The last batch that was committed by the log in the folder of a sink; None before the first.

    :raises LedgerError: the log cannot be read
    """
    log = TransactionLog(store)
    done = log.generations().done
    decided = log.decision(done) if done else None
    return decided if decided is not None and decided.outcome is Outcome.PREPARED else None
