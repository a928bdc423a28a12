"""What became of a batch that was committed in two phases, for people and their tools: what counts is in the log."""

from __future__ import annotations

import logging
from typing import Final

from asyncsink.errors import LedgerError
from asyncsink.ledger import BatchProgress, Ledger
from asyncsink.transactions.log import Decision

logger = logging.getLogger(__name__)

PROGRESS: Final = "progress"
"""Under this name a decision keeps it until the batch is committed, whoever commits it."""


def note(ledger: Ledger, decision: Decision) -> None:
    """Write down what became of the batch.

    A failure is logged: a batch job that failed for it would be run again, and write its rows once more.
    """
    try:
        ledger.commit(decision.after, BatchProgress(**decision.note[PROGRESS]))
    except LedgerError as error:
        logger.warning("a batch is committed, but what became of it cannot be noted: %s", error)
