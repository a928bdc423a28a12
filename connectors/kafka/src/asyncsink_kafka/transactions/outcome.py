"""Whether a transaction that was to be committed is committed, as far as its coordinator can tell."""

from __future__ import annotations

from enum import Enum
from typing import Final

from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.coordinators import Described, TransactionCoordinators

_REFUSALS: Final = frozenset(
    {"INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE", "PRODUCER_FENCED"}
)
_COMMITS: Final = frozenset({"PrepareCommit", "CompleteCommit"})
_ABORTS: Final = frozenset({"PrepareAbort", "CompleteAbort", "PrepareEpochFence", "Dead"})


class Outcome(Enum):
    """What became of a transaction."""

    COMMITTED = "committed"
    LOST = "lost"
    """It was aborted: by the brokers when its timeout was over, or by somebody who took its id over."""
    UNKNOWN = "unknown"
    """Its id has been used since, or forgotten."""


async def committed(coordinators: TransactionCoordinators, transaction: KafkaTransaction) -> tuple[Outcome, str]:
    """Commit a transaction; what came of it, and what the coordinator said.

    :raises RequestError: the coordinator refuses the request for another reason
    """
    said = await coordinators.end(
        transaction.transactional_id, transaction.producer_id, transaction.producer_epoch, commit=True
    )
    if said == "NONE":
        return Outcome.COMMITTED, said
    if said not in _REFUSALS:
        return Outcome.UNKNOWN, said
    found = (await coordinators.describe([transaction.transactional_id])).get(transaction.transactional_id)
    if found is None:
        return Outcome.UNKNOWN, "the brokers have forgotten the id (transactional.id.expiration.ms)"
    return judged(transaction, found), f"{said}, and the id is {found.state} with epoch {found.producer_epoch}"


def judged(transaction: KafkaTransaction, found: Described) -> Outcome:
    """What became of a transaction whose commit was refused, by how its id stands now.

    An end that its own producer asks for leaves the epoch as it is; the broker's abort after the timeout raises it by
    one; so does a producer that begins anew after an end, and by two where it has to abort first. Seen with Kafka 4.1.
    """
    ahead = found.producer_epoch - transaction.producer_epoch
    if found.producer_id != transaction.producer_id:
        return Outcome.UNKNOWN
    is_same = found.started_ms == transaction.started_ms
    if ahead == 0 or (ahead == 1 and is_same):
        if found.state in _COMMITS:
            return Outcome.COMMITTED
        return Outcome.LOST if found.state in _ABORTS else Outcome.UNKNOWN
    # Somebody has begun anew, and had nothing to abort: it had ended without the brokers' doing.
    return Outcome.COMMITTED if ahead == 1 else Outcome.UNKNOWN
