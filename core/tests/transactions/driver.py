"""A process that plans and commits, without Spark."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio

from asyncsink import Transaction, WriterInitContext
from asyncsink.ledger import LedgerState, Store
from asyncsink.ledger.local import LocalStore
from asyncsink.transactions.committing import as_kept
from asyncsink.transactions.coordinator import Begun, Coordinator
from asyncsink.transactions.log import Decision, Outcome, TransactionLog
from asyncsink_testing.staged_sink import Staged, StagedSink, StagingArea


class Driver:
    """One process that plans and commits batches of one sink."""

    def __init__(
        self, folder: Path, area: StagingArea, store: Store | None = None, *, timeout_s: float = 5.0, **kind: bool
    ) -> None:
        self.sink = StagedSink(area, **kind)
        self.log = TransactionLog(store or LocalStore(folder))
        self.coordinator = Coordinator("orders", self.sink, self.log, commit_timeout_s=timeout_s)

    def begin(self) -> Begun:
        return anyio.run(self.coordinator.begin)

    def prepared(self, transaction: Transaction, *elements: str, batch_id: int = 0) -> Decision:
        """Write the elements in one task, which prepares them."""

        async def prepare() -> list[Staged]:
            writer = self.sink.create_writer(WriterInitContext(transaction=transaction))
            await writer.write_many(elements)
            return await writer.prepare_commit(flush=True)

        serializer = self.sink.committable_serializer
        assert serializer is not None
        return Decision(
            outcome=Outcome.PREPARED,
            transaction=transaction,
            batch_id=batch_id,
            committables=as_kept(serializer, anyio.run(prepare)),
            after=LedgerState(batch_id=batch_id),
        )

    def commit(self, decision: Decision, *, end_of_input: bool = False) -> None:
        anyio.run(partial(self.coordinator.commit, decision, end_of_input=end_of_input))

    def abort(self, decision: Decision) -> None:
        anyio.run(self.coordinator.abort, decision.transaction, decision.committables)

    def whole_batch(self, *elements: str, batch_id: int = 0) -> None:
        self.commit(self.prepared(self.begin().transaction, *elements, batch_id=batch_id))
