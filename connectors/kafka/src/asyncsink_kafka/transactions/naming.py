"""Transactional ids: by them the transactions of one sink are told from all others, and used again.

``<prefix>-<sink id>-<run>-<partition>-<place>``. The brokers keep an id for days after its last use, so that each
batch cannot have ids of its own; there is a pool, and who is late stays out of the way of his successors by the run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from asyncsink.transactions import Transaction

DEFAULT_PREFIX: Final = "asyncsink"

RUNS: Final = 8
"""Runs after which ids are used again. A run ends where an attempt was not finished."""

PLACES: Final = 8
"""Ids of one partition: attempts at it that may be there at the same time."""

_LATER_RUNS: Final = 2

_ID: Final = re.compile(r"(?P<sink>.+-[0-9a-f]{16})-(?P<run>\d+)-(?P<partition>\d+)-(?P<place>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TransactionalId:
    """An id of our making.

    :param sink: prefix and sink id
    :param run: of the transaction, modulo :data:`RUNS`
    """

    sink: str
    run: int
    partition: int
    place: int

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """None if it is none of ours."""
        found = _ID.fullmatch(text)
        if found is None:
            return None
        return cls(found["sink"], int(found["run"]), int(found["partition"]), int(found["place"]))

    def __str__(self) -> str:
        return f"{self.sink}-{self.run}-{self.partition}-{self.place}"


def sink_name(prefix: str, transaction: Transaction) -> str:
    """What all ids of a sink begin with; a dash follows it."""
    return f"{prefix}-{transaction.sink_id}"


def pool(prefix: str, transaction: Transaction, partition: int, first: int) -> list[str]:
    """The ids that a task may use, in the order in which it should look at them.

    :param first: a number of the attempt; others begin elsewhere
    """
    sink, run = sink_name(prefix, transaction), transaction.run % RUNS
    places = ((first + each) % PLACES for each in range(PLACES))
    return [str(TransactionalId(sink, run, partition, place)) for place in places]


def is_over(text: str, prefix: str, transaction: Transaction) -> bool:
    """Whether an id is of this sink, and of the run of `transaction` or one before it.

    Those of the next runs belong to successors, who have taken this process for dead.
    """
    found = TransactionalId.parsed(text)
    if found is None or found.sink != sink_name(prefix, transaction):
        return False
    return not 0 < (found.run - transaction.run) % RUNS <= _LATER_RUNS
