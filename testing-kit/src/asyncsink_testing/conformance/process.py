"""One process of a job that commits, as the checks of committers play it: only bytes come to it from another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from asyncsink.committer import Committer, GlobalCommitter
from asyncsink.context import WriterInitContext
from asyncsink.ledger.state import KeptState
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import Sink, SinkWriter
from asyncsink.transactions.committing import Commit, Lost, as_kept, commit_until_done, of_kept
from asyncsink.transactions.transaction import Transaction
from asyncsink.writer_states import kept_states, restored_states
from asyncsink_testing.conformance.check import NotApplicableError
from asyncsink_testing.conformance.committing_writer import COMMIT_TIMEOUT_S
from asyncsink_testing.conformance.trial import Row, Trial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Kept = tuple[KeptState, ...]
"""Committables or states as bytes, which is all that one process has of another's."""

CommitterT = TypeVar("CommitterT", bound=Committer[Any] | GlobalCommitter[Any, Any])


def new_transaction() -> Transaction:
    """The first attempt of a job that nothing is known of."""
    return Transaction(uuid4().hex[:16], 1)


@dataclass(frozen=True, slots=True)
class Process:
    """A sink made anew, its writers and its committers."""

    trial: Trial
    sink: Sink[Any, Any, Any, Any]

    @classmethod
    def started(cls, trial: Trial) -> Process:
        """A process with a sink of its own."""
        return cls(trial, trial.sink())

    # ---- writing ---------------------------------------------------------------------------------------------

    def writer(
        self, transaction: Transaction, *, writer_id: int = 0, attempt: int = 0, states: Kept = ()
    ) -> SinkWriter[Any, Any, Any]:
        """A writer that prepares for a transaction, not entered yet."""
        context = WriterInitContext(
            writer_id=writer_id,
            attempt=attempt,
            query_id=transaction.sink_id,
            batch_id=transaction.generation,
            transaction=transaction,
        )
        return self.sink.create_writer(context, restored_states(self.sink, states, "a writer"))

    async def prepare(self, writer: SinkWriter[Any, Any, Any], rows: Sequence[Row], *, flush: bool = True) -> Kept:
        """Write rows with a writer that was entered; the committables that it prepares."""
        await self.trial.write(writer, rows)
        await writer.flush(end_of_input=flush)
        return self.as_bytes(await writer.prepare_commit(flush))

    async def prepared(self, transaction: Transaction, rows: Sequence[Row], *, writer_id: int = 0) -> Kept:
        """The committables of a writer that has written rows and is closed.

        :raises ConformanceError: there are none
        """
        async with self.writer(transaction, writer_id=writer_id) as writer:
            kept = await self.prepare(writer, rows)
        if not kept:
            self.trial.fail(
                f"{len(rows)} rows were written, and prepare_commit(True) returned no committable: nothing is left by "
                "which they could be committed"
            )
        return kept

    def states(self, writer: SinkWriter[Any, Any, Any]) -> Kept:
        """What a writer leaves to its successor."""
        return kept_states(self.sink, writer.snapshot_state(1))

    # ---- committing ------------------------------------------------------------------------------------------

    async def commit(self, kept: Kept) -> Lost | None:
        """Make visible what was prepared, by all committers that the sink has; what of it was lost, if anything."""
        if self.sink.create_committer() is not None:
            lost = await self.commit_singly(kept)
            if lost is not None:
                return lost
        if kept and self.sink.create_global_committer() is not None:
            return await self.publish([await self.combined(kept)])
        return None

    async def commit_singly(self, kept: Kept) -> Lost | None:
        """Commit by the committer of single writers, if there is one."""
        if self.sink.create_committer() is None:
            return None
        async with self.committer() as committer:
            return await self.commit_by(committer, kept)

    async def commit_by(self, committer: Committer[Any], kept: Kept) -> Lost | None:
        """Commit by this committer."""
        return await self._done(committer.commit, self.of_bytes(kept), self.serializer)

    async def combined(self, kept: Kept) -> KeptState:
        """The global committable of some committables."""
        async with self.global_committer() as committer:
            value = await committer.combine(self.of_bytes(kept))
        return as_kept(self.global_serializer, [value])[0]

    async def publish(self, kept: Sequence[KeptState]) -> Lost | None:
        """Commit by the global committer."""
        async with self.global_committer() as committer:
            return await self._done(committer.commit, self.of_global_bytes(kept), self.global_serializer)

    async def _done(
        self, commit: Commit, values: Sequence[Any], serializer: SimpleVersionedSerializer[Any]
    ) -> Lost | None:
        return await commit_until_done(commit, values, serializer, COMMIT_TIMEOUT_S, "this check")

    async def abort(self, kept: Kept) -> None:
        """Give up what was prepared."""
        async with self._sweeper() as sweeper:
            await sweeper.abort(self.of_bytes(kept))

    async def sweep(self, transaction: Transaction, states: Kept = ()) -> None:
        """Remove what was left by other attempts than `transaction`, and is not needed by `states`."""
        async with self._sweeper() as sweeper:
            await sweeper.sweep(transaction, restored_states(self.sink, states, "a writer"))

    @asynccontextmanager
    async def committer(self) -> AsyncIterator[Committer[Any]]:
        """A committer made anew, closed at the end.

        :raises NotApplicableError: the sink has none
        """
        async with _closing(self.sink.create_committer(), "no Committer, only a GlobalCommitter") as committer:
            yield committer

    @asynccontextmanager
    async def global_committer(self) -> AsyncIterator[GlobalCommitter[Any, Any]]:
        """A global committer made anew, closed at the end.

        :raises NotApplicableError: the sink has none
        """
        async with _closing(self.sink.create_global_committer(), "no GlobalCommitter") as committer:
            yield committer

    @asynccontextmanager
    async def _sweeper(self) -> AsyncIterator[Committer[Any] | GlobalCommitter[Any, Any]]:
        sweeper = self.sink.create_committer() or self.sink.create_global_committer()
        async with _closing(sweeper, "no committer") as committer:
            yield committer

    # ---- bytes -----------------------------------------------------------------------------------------------

    @property
    def serializer(self) -> SimpleVersionedSerializer[Any]:
        """That of committables."""
        return self._given("committable_serializer")

    @property
    def global_serializer(self) -> SimpleVersionedSerializer[Any]:
        """That of global committables."""
        return self._given("global_committable_serializer")

    def as_bytes(self, committables: Sequence[Any]) -> Kept:
        return as_kept(self.serializer, committables)

    def of_bytes(self, kept: Sequence[KeptState]) -> list[Any]:
        return of_kept(self.serializer, kept, "this check")

    def of_global_bytes(self, kept: Sequence[KeptState]) -> list[Any]:
        return of_kept(self.global_serializer, kept, "this check")

    def _given(self, name: str) -> SimpleVersionedSerializer[Any]:
        found: SimpleVersionedSerializer[Any] | None = getattr(self.sink, name)
        if found is None:
            self.trial.fail(
                f"the sink has a committer and no {name}: what it commits must outlive the process that prepared it; "
                "give it a SimpleVersionedSerializer, such as DataclassSerializer(...)"
            )
        return found


@asynccontextmanager
async def _closing(committer: CommitterT | None, lacking: str) -> AsyncIterator[CommitterT]:
    if committer is None:
        raise NotApplicableError(f"the sink has {lacking}")
    try:
        yield committer
    finally:
        await committer.aclose()
