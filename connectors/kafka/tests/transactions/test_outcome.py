"""What became of a transaction whose commit was refused, by how its id stands."""

from __future__ import annotations

import pytest

from asyncsink_kafka.transactions.committable import COMMITTABLES, KafkaTransaction
from asyncsink_kafka.transactions.coordinators import Described
from asyncsink_kafka.transactions.outcome import Outcome, judged

PREPARED = KafkaTransaction("orders-1", 17, 5, started_ms=1_000, timeout_ms=60_000, records=3)
LATER_MS = 2_000


def found(state: str, epoch: int, *, started_ms: int = 1_000, producer_id: int = 17) -> Described:
    return Described("orders-1", state, producer_id, epoch, 60_000, started_ms)


@pytest.mark.parametrize(
    ("described", "outcome"),
    [
        (found("CompleteCommit", 5), Outcome.COMMITTED),
        (found("PrepareCommit", 5), Outcome.COMMITTED),
        (found("CompleteAbort", 5), Outcome.LOST),
        (found("PrepareAbort", 5), Outcome.LOST),
        # The timeout was over: the brokers raise the epoch, and the transaction is the same.
        (found("PrepareEpochFence", 6), Outcome.LOST),
        (found("CompleteAbort", 6), Outcome.LOST),
        # A producer has begun anew after the commit, and perhaps gone on.
        (found("Empty", 6, started_ms=-1), Outcome.COMMITTED),
        (found("Ongoing", 6, started_ms=LATER_MS), Outcome.COMMITTED),
        (found("CompleteAbort", 6, started_ms=LATER_MS), Outcome.COMMITTED),
        # It had to abort something first, which may have been this one; or it was not the only one.
        (found("Empty", 7, started_ms=-1), Outcome.UNKNOWN),
        (found("CompleteCommit", 8, started_ms=LATER_MS), Outcome.UNKNOWN),
        (found("Empty", 5, started_ms=-1), Outcome.UNKNOWN),
        (found("Empty", 0, started_ms=-1, producer_id=18), Outcome.UNKNOWN),
    ],
)
def test_each_state_says_what_it_can(described: Described, outcome: Outcome) -> None:
    assert judged(PREPARED, described) is outcome


def test_a_committable_outlives_its_process() -> None:
    assert COMMITTABLES.deserialize(COMMITTABLES.version, COMMITTABLES.serialize(PREPARED)) == PREPARED
