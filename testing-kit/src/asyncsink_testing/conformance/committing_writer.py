"""A writer of a sink with committers that commits by itself, so that the checks of any writer hold for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from asyncsink.blocks import EntryBlock
from asyncsink.context import WriteContext, WriterInitContext
from asyncsink.processing_time import ProcessingTimers
from asyncsink.sink import Sink, SinkWriter
from asyncsink.transactions.committing import kept_committables
from asyncsink.transactions.coordinator import Coordinator
from asyncsink.transactions.log import Decision, Outcome, TransactionLog
from asyncsink.transactions.transaction import Transaction
from asyncsink.writer.statistics import WriterStatistics
from asyncsink_testing.memory_store import MemoryStore

COMMIT_TIMEOUT_S = 10.0


class CommittingWriter(SinkWriter[Any, Any, Any]):
    """Prepares and commits all that was written whenever it is flushed at the end of input, and when it is left.

    As :func:`asyncsink.run_local` does, with a log that is gone with it.
    """

    __slots__ = ("_coordinator", "_is_closed", "_running", "_sink", "_timers", "_transaction", "_writer")

    def __init__(self, sink: Sink[Any, Any, Any, Any], context: WriterInitContext, states: Sequence[Any]) -> None:
        log = TransactionLog(MemoryStore())
        self._sink, self._transaction = sink, Transaction(log.sink_id(), 1)
        log.begin(self._transaction)
        self._coordinator = Coordinator(type(sink).__name__, sink, log, commit_timeout_s=COMMIT_TIMEOUT_S)
        self._timers, self._running, self._is_closed = ProcessingTimers(), AsyncExitStack(), False
        own = replace(context, transaction=self._transaction, processing_time_service=self._timers)
        self._writer = sink.create_writer(own, states)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as entered:
            await entered.enter_async_context(self._timers.running())
            await entered.enter_async_context(self._writer)
            self._running = entered.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._is_closed:
            try:
                await self._commit(at_the_end=True)
            except BaseException as failure:
                await self._running.__aexit__(type(failure), failure, failure.__traceback__)
                raise
        await self._running.__aexit__(kind, error, trace)

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        await self._writer.write(element, context)

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        await self._writer.write_block(block, context)

    async def write_many(self, elements: Sequence[Any], context: WriteContext | None = None) -> None:
        await self._writer.write_many(elements, context)

    def statistics(self) -> WriterStatistics | None:
        return self._writer.statistics()

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[Any]:
        return self._writer.snapshot_state(checkpoint_id)

    async def flush(self, end_of_input: bool = False) -> None:
        if end_of_input:
            await self._commit(at_the_end=False)
        else:
            await self._writer.flush()

    async def aclose(self) -> None:
        self._is_closed = True
        await self._writer.aclose()

    async def _commit(self, *, at_the_end: bool) -> None:
        await self._writer.flush(end_of_input=True)
        committables = await self._writer.prepare_commit(True)
        decision = Decision(
            outcome=Outcome.PREPARED,
            transaction=self._transaction,
            batch_id=self._transaction.generation,
            committables=kept_committables(self._sink, committables),
        )
        await self._coordinator.commit(decision, end_of_input=at_the_end, sweep=at_the_end)
        if not at_the_end:
            self._transaction = (await self._coordinator.begin(sweep=False)).transaction
