"""What the destination of a sink says of its transactions, and the end of those that a dead query has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from asyncsink.errors import ConfigurationError
from asyncsink.ledger import Ledger, Store
from asyncsink.options.door import DoorOptions
from asyncsink.plugins import ConnectorInfo, connector_info, sink_with
from asyncsink.sink import Sink
from asyncsink.transactions.coordinator import Begun, Coordinator, check_transactional, is_transactional
from asyncsink.transactions.log import Generations, TransactionLog
from asyncsink.transactions.noting import PROGRESS, note


@dataclass(frozen=True, slots=True)
class Destination:
    """What a sink's committer has found.

    :param open: transactions that are open, a line of the connector's for each
    :param ended: what was done to end those that there were; None if nobody has asked for it
    :param warning: what that has done to a query that was alive
    :param error: why the destination cannot tell, or what could not be ended
    """

    open: tuple[str, ...] = ()
    ended: tuple[str, ...] | None = None
    warning: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Question:
    """Which sink's destination is to be asked, and for what.

    :param sink: made of the options that the query has
    :param ends: whether to end what is open
    """

    connector: str
    sink: Sink[Any, Any, Any, Any]
    commit_timeout_s: float
    ends: bool

    @classmethod
    def of(cls, connector: str, options: Mapping[str, str], *, ends: bool) -> Question:
        """The question about the sink of a connector with these options; those of the door need not be left out.

        :raises ConfigurationError: there is no such connector, an option breaks its rule, or the sink commits nothing
        """
        info = connector_info(connector)
        door, own = DoorOptions.split(options)
        sink = sink_with(info, own)
        _check(info, sink)
        return cls(info.name, sink, door.commit_timeout_s, ends)

    def asked(self, store: Store) -> Destination:
        """The answer, by the log in the folder of the sink; errors are in it."""
        log = TransactionLog(store)
        coordinator = Coordinator(self.connector, self.sink, log, commit_timeout_s=self.commit_timeout_s)
        try:
            return anyio.run(_ended if self.ends else _listed, coordinator, log, Ledger(store))
        except Exception as error:
            # Whatever the connector raises; what can be read without the destination is told all the same.
            return Destination(error=f"the destination of {self.connector!r}: {type(error).__name__}: {error}")


def _check(info: ConnectorInfo, sink: Sink[Any, Any, Any, Any]) -> None:
    if not is_transactional(sink):
        raise ConfigurationError(
            f"{info.name!r} with these options commits nothing, so that it leaves nothing open; give each option that "
            "the query has by --option KEY=VALUE, such as deliveryGuarantee=exactly-once"
        )
    check_transactional(sink)


async def _listed(coordinator: Coordinator, log: TransactionLog, ledger: Ledger) -> Destination:
    return Destination(tuple(await coordinator.open_transactions()))


async def _ended(coordinator: Coordinator, log: TransactionLog, ledger: Ledger) -> Destination:
    known = log.generations()
    if not known.begun:
        return Destination(ended=())
    before = await coordinator.open_transactions()
    begun = await coordinator.settle()
    if begun.recovered and begun.committed is not None and PROGRESS in begun.committed.note:
        note(ledger, begun.committed)
    left = tuple(await coordinator.open_transactions())
    number = begun.transaction.generation
    return Destination(
        left,
        tuple(_done(known, begun, before, left)),
        f"attempt {number} was begun and given up in the query's place: if the query was alive, it has lost what it "
        "was writing; it fails, and writes the batch again when it is started again",
        _still_open(left) if left else None,
    )


def _still_open(left: Sequence[str]) -> str:
    return (
        f"{len(left)} transactions are open all the same: a warning that was logged says why, or the query is alive "
        "and has begun them since"
    )


def _done(known: Generations, begun: Begun, before: Sequence[str], left: Sequence[str]) -> list[str]:
    """What became of the attempt that was the last one, and of what was open."""
    if begun.recovered:
        last = f"attempt {known.begun} was prepared, and is committed"
    elif known.is_finished:
        last = f"attempt {known.begun} was committed before"
    else:
        last = f"attempt {known.begun} is given up"
    return [last, f"{len(set(before) - set(left))} of {len(before)} transactions that were open have ended"]
