"""The log of a sink's transactions: small files that are created once, and never replaced.

``begin-<g>`` opens attempt g, and only one planner can create it. ``slot-<g>`` decides it: whoever creates it first has
decided, be it the commit of a batch or a successor who gives the attempt up. ``done-<g>`` says that all of a decided
batch is committed. A zombie can therefore repeat what has been decided, and never change it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeVar
from uuid import uuid4

from asyncsink.errors import LedgerError, LedgerUnavailableError
from asyncsink.ledger.envelope import decode, encode
from asyncsink.ledger.state import KeptState, LedgerState
from asyncsink.ledger.store import Store
from asyncsink.transactions.transaction import Transaction

T = TypeVar("T")

FOLDER: Final = "transactions"
KEPT_GENERATIONS: Final = 3
"""Attempts before the last one whose files stay, for whoever looks at them."""
_REMOVED_FROM: Final = 8
"""Outdated attempts that are removed together: over a network each removal is a round trip."""

_ID, _BEGIN, _SLOT, _DONE, _GLOBAL = "id", "begin", "slot", "done", "global"
_DAMAGED: Final = (
    "remove the folder of the ledger: then nobody knows what was committed, so that a batch may be committed twice, or "
    "what was prepared for one may never be"
)


class Outcome(Enum):
    """What was decided of an attempt."""

    PREPARED = "prepared"
    """Its committables will be committed, by whoever comes to it."""
    ABANDONED = "abandoned"
    """Nobody will commit what was prepared in it."""
    SKIPPED = "skipped"
    """Spark only repeated a batch, and nothing was prepared."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What was decided of an attempt, with all that a successor needs to carry it out.

    :param transaction: the attempt
    :param batch_id: the micro-batch; None for batch jobs
    :param job: the name of a batch job, if it has one that outlives it
    :param committables: of all writers, as the sink's serializer wrote them
    :param after: the state of the ledger once the batch is committed
    :param note: what the runner keeps with the batch, as JSON
    """

    outcome: Outcome
    transaction: Transaction
    batch_id: int | None = None
    job: str | None = None
    committables: tuple[KeptState, ...] = ()
    after: LedgerState = field(default_factory=LedgerState)
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Generations:
    """Which attempts the log knows, from one listing: the last that was begun, and the last that is done."""

    begun: int
    done: int
    names: tuple[str, ...]

    @property
    def is_finished(self) -> bool:
        """Whether the last attempt was committed, all of it."""
        return self.begun == self.done


class TransactionLog:
    """The log of one sink. Its calls block, and raise :class:`~asyncsink.LedgerError` as those of a store do.

    :param store: the folder of the sink's ledger
    """

    def __init__(self, store: Store) -> None:
        self._store = store.within(FOLDER)

    @property
    def location(self) -> str:
        """Where it lies, as messages may show it."""
        return self._store.location

    def remedies(self, generation: int) -> str:
        """What a person can do about an attempt of which a part is committed, and the rest is lost."""
        return (
            f"to have the batch written again, with the rows of that part once more, remove {_SLOT}-{generation} from "
            f"{self.location}; to go on without the rows that are lost, create a file {_DONE}-{generation} there"
        )

    def generations(self) -> Generations:
        """What there is. One round trip."""
        names = tuple(self._store.names(""))
        return Generations(_last(names, _BEGIN), _last(names, _DONE), names)

    def sink_id(self) -> str:
        """The random name of this log; made by the first who asks."""
        if (found := self._store.read(_ID)) is None:
            self._store.create(_ID, encode(_ID, {"id": uuid4().hex[:16]}))
            found = self._store.read(_ID)
            # Some stores that imitate S3 do not hear the condition: each of two planners would be the first.
            if self._store.create(_ID, found or b""):
                raise LedgerUnavailableError(
                    f"{self.location} lets what is there be created again, so that two queries could commit one batch; "
                    "name a folder on a disk, or an object store that knows If-None-Match"
                )
        if found is None:
            raise LedgerError(f"{self._where(_ID)} was created, and is not there; is the folder being removed?")
        return self._decoded(_ID, _ID, found, lambda fields: str(fields["id"]))

    def begin(self, transaction: Transaction) -> None:
        """Open an attempt.

        :raises LedgerError: another planner has opened it meanwhile
        """
        name = f"{_BEGIN}-{transaction.generation}"
        if not self._created(name, _BEGIN, {"run": transaction.run}):
            raise LedgerError(
                f"another query has begun attempt {transaction.generation} in {self.location} meanwhile: two live "
                "queries or jobs share one location, and each would commit over the other; give each its own"
            )

    def run_of(self, generation: int) -> int:
        """The run in which an attempt was begun; 0 if it is none."""
        return self._read(f"{_BEGIN}-{generation}", _BEGIN, lambda fields: int(fields["run"])) or 0

    def decide(self, decision: Decision) -> Decision:
        """Decide an attempt; returns what is decided: this, or what another has decided before."""
        generation = decision.transaction.generation
        name = f"{_SLOT}-{generation}"
        if self._created(name, _SLOT, _fields(decision)):
            return decision
        found = self.decision(generation)
        if found is None:
            raise LedgerError(f"{self._where(name)} was there and is not any more; is the folder being removed?")
        return found

    def decision(self, generation: int) -> Decision | None:
        """What was decided of an attempt, if anything was."""
        return self._read(f"{_SLOT}-{generation}", _SLOT, lambda fields: _decision(generation, fields))

    def keep_global(self, generation: int, committable: KeptState) -> KeptState:
        """Keep the global committable of an attempt; returns the one that is kept: this, or an earlier one."""
        name = f"{_GLOBAL}-{generation}"
        if self._created(name, _GLOBAL, {"committable": _pair(committable)}):
            return committable
        return self.global_committable(generation) or committable

    def global_committable(self, generation: int) -> KeptState | None:
        """The global committable that was kept for an attempt, if any was."""
        return self._read(f"{_GLOBAL}-{generation}", _GLOBAL, lambda fields: _unpaired(fields["committable"]))

    def finish(self, generation: int) -> None:
        """Say that all of an attempt is committed. Again, and by another, it does no harm."""
        self._store.create(f"{_DONE}-{generation}", encode(_DONE, {}))

    def tidy(self, known: Generations) -> None:
        """Remove the files of attempts that nobody needs any more, once there are some. The last one done stays."""
        kept = {0, known.done, *range(known.begun - KEPT_GENERATIONS, known.begun + 1)}
        outdated = [name for name in known.names if _number(name) not in kept]
        if len({_number(name) for name in outdated}) >= _REMOVED_FROM:
            self._store.remove(*outdated)

    def _created(self, name: str, kind: str, fields: Mapping[str, Any]) -> bool:
        """Whether this call has created a file."""
        # An object store's client repeats a request whose answer got lost, and then finds its own file.
        token = uuid4().hex
        if self._store.create(name, encode(kind, {**fields, "token": token})):
            return True
        return self._read(name, kind, lambda found: found.get("token")) == token

    def _read(self, name: str, kind: str, read: Callable[[Mapping[str, Any]], T]) -> T | None:
        data = self._store.read(name)
        return None if data is None else self._decoded(name, kind, data, read)

    def _decoded(self, name: str, kind: str, data: bytes, read: Callable[[Mapping[str, Any]], T]) -> T:
        return decode(kind, data, self._where(name), read, _DAMAGED)

    def _where(self, name: str) -> str:
        return f"{self.location}/{name}"


def _last(names: Sequence[str], kind: str) -> int:
    return max((_number(name) for name in names if name.startswith(f"{kind}-")), default=0)


def _number(name: str) -> int:
    """The attempt that a file belongs to; 0 for one that is none of ours."""
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _fields(decision: Decision) -> dict[str, Any]:
    return {
        "outcome": decision.outcome.value,
        "sink_id": decision.transaction.sink_id,
        "run": decision.transaction.run,
        "batch_id": decision.batch_id,
        "job": decision.job,
        "committables": [_pair(each) for each in decision.committables],
        "after": decision.after.as_fields(),
        "note": decision.note,
    }


def _decision(generation: int, fields: Mapping[str, Any]) -> Decision:
    return Decision(
        outcome=Outcome(fields["outcome"]),
        transaction=Transaction(fields["sink_id"], generation, fields["run"]),
        batch_id=fields["batch_id"],
        job=fields["job"],
        committables=tuple(map(_unpaired, fields["committables"])),
        after=LedgerState.of_fields(fields["after"]),
        note=fields["note"],
    )


def _pair(kept: KeptState) -> list[Any]:
    version, data = kept
    return [version, b64encode(data).decode()]


def _unpaired(pair: Sequence[Any]) -> KeptState:
    version, text = pair
    return int(version), b64decode(text, validate=True)
