"""Sinks with committers without Spark: prepare, persist, commit, and recover what a crash has left."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Final

from asyncsink.context import WriteContext, WriterInitContext
from asyncsink.errors import ConfigurationError, LedgerError
from asyncsink.ledger import LedgerState, open_store
from asyncsink.ledger.state import KeptState
from asyncsink.processing_time import ProcessingTimers
from asyncsink.sink import Sink, SinkWriter
from asyncsink.transactions.committing import kept_committables
from asyncsink.transactions.coordinator import (
    COMMIT_TIMEOUT_S,
    Begun,
    Coordinator,
    check_transactional,
    is_transactional,
)
from asyncsink.transactions.log import Decision, Outcome, TransactionLog
from asyncsink.transactions.transaction import Transaction
from asyncsink.writer_states import kept_states, restored_states

_PARTITION: Final = 0
_POSITION: Final = "position"


@dataclass(frozen=True)
class LocalRun:
    """What became of a run.

    :param position: elements committed so far, by this run and by those before it
    :param commits: commits that this run has made
    :param recovered: whether it has first committed what a run before it had prepared
    """

    position: int
    commits: int
    recovered: bool


async def run_local(
    sink: Sink[Any, Any, Any, Any],
    elements: Iterable[Any] | AsyncIterable[Any],
    state_dir: str | PathLike[str],
    *,
    checkpoint_every: int | None = None,
    commit_timeout_s: float = COMMIT_TIMEOUT_S,
) -> LocalRun:
    """Write elements to a sink in this process, with one writer, exactly once if the sink has a committer.

    What is prepared is written down in `state_dir` before it is committed. A run that ends in the midst, be it by an
    error or by a kill, is taken up by the next one with the same `state_dir`: it commits what was prepared, hands the
    writer's state on, and passes over the elements that are committed. So `elements` have to be the same, in the same
    order; more may follow them.

    A sink without a committer is delivered to at least once.

    :param elements: what the sink's converter takes
    :param state_dir: a folder, or a URL as a ledger's; of this sink and of these elements alone
    :param checkpoint_every: elements between two commits, as in a stream; None: one commit at the end, as in a batch
    :param commit_timeout_s: seconds that a commit may take
    :raises ConfigurationError: the sink has a committer and no serializer, there are fewer elements than have been
        committed, or `checkpoint_every` is not at least 1
    :raises CommitError: what was prepared could not be committed; the next run does it first
    :raises LedgerError: the files in `state_dir` cannot be read or written, or another run is at work with them
    :raises AsyncSinkError: what the writer raises
    """
    if checkpoint_every is not None and checkpoint_every < 1:
        raise ConfigurationError(
            f"checkpoint_every = {checkpoint_every}; it must be at least 1, or None for one commit at the end"
        )
    check_transactional(sink)
    name = type(sink).__name__
    log = TransactionLog(open_store(fspath(state_dir)))
    coordinator = Coordinator(name, sink, log, commit_timeout_s=commit_timeout_s)
    run = _Run(name, sink, coordinator, log.location, checkpoint_every)
    return await run.write(elements)


class _Run:
    def __init__(
        self,
        name: str,
        sink: Sink[Any, Any, Any, Any],
        coordinator: Coordinator,
        location: str,
        checkpoint_every: int | None,
    ) -> None:
        self._name, self._sink, self._coordinator, self._location = name, sink, coordinator, location
        self._every = checkpoint_every
        self._position = self._committed = self._commits = 0
        self._transaction: Transaction

    async def write(self, elements: Iterable[Any] | AsyncIterable[Any]) -> LocalRun:
        begun = await self._coordinator.begin()
        self._transaction, states = begun.transaction, _left(begun)
        if begun.committed is not None:
            self._committed = int(begun.committed.note[_POSITION])
        try:
            await self._write_all(elements, states, begun.recovered)
        except Exception:
            # What was decided stays so; else nothing of it will ever be committed.
            await self._coordinator.abort(self._transaction, ())
            raise
        return LocalRun(self._committed, self._commits, begun.recovered)

    async def _write_all(
        self, elements: Iterable[Any] | AsyncIterable[Any], states: Sequence[KeptState], recovered: bool
    ) -> None:
        timers = ProcessingTimers()
        context = WriterInitContext(
            query_id=self._transaction.sink_id,
            batch_id=self._transaction.generation,
            restored_batch_id=self._transaction.generation - 1 if states else None,
            processing_time_service=timers,
            transaction=self._transaction if is_transactional(self._sink) else None,
        )
        restored = restored_states(self._sink, states, f"the state of {self._name}")
        # Trio complains of a generator that is left in its midst and not closed.
        async with (
            aclosing(_each(elements)) as each,
            timers.running(),
            self._sink.create_writer(context, restored) as writer,
        ):
            async for element in each:
                self._position += 1
                if self._position <= self._committed:
                    continue
                await writer.write(element, WriteContext(sequence=self._position - 1))
                if self._every is not None and (self._position - self._committed) >= self._every:
                    await self._commit(writer, at_the_end=False)
                    await self._begin_next()
            if self._position < self._committed:
                raise ConfigurationError(
                    f"{self._committed} elements have been committed by runs with this state_dir, and now there are "
                    f"only {self._position}; give the same elements again, or another state_dir"
                )
            await self._commit(writer, at_the_end=True)

    async def _begin_next(self) -> None:
        last, self._transaction = self._transaction, (await self._coordinator.begin(sweep=False)).transaction
        if self._transaction.generation != last.generation + 1:
            raise LedgerError(
                f"another run of {self._name} has begun attempt {last.generation + 1} in {self._location} meanwhile, "
                "and may have committed what this one is about to write; end all with this state_dir, and start one"
            )

    async def _commit(self, writer: SinkWriter[Any, Any, Any], *, at_the_end: bool) -> None:
        await writer.flush(end_of_input=at_the_end)
        committables = await writer.prepare_commit(at_the_end)
        states = kept_states(self._sink, writer.snapshot_state(self._transaction.generation))
        decision = Decision(
            outcome=Outcome.PREPARED,
            transaction=self._transaction,
            batch_id=self._transaction.generation,
            committables=kept_committables(self._sink, committables),
            after=LedgerState(writer_states={_PARTITION: states} if states else {}),
            note={_POSITION: self._position},
        )
        # The writer lives on: what it has open is not to be taken for what dead ones have left.
        await self._coordinator.commit(decision, end_of_input=at_the_end, sweep=at_the_end)
        self._committed, self._commits = self._position, self._commits + 1


def _left(begun: Begun) -> Sequence[KeptState]:
    committed = begun.committed
    return () if committed is None else committed.after.writer_states.get(_PARTITION, ())


async def _each(elements: Iterable[Any] | AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    if isinstance(elements, AsyncIterable):
        async for element in elements:
            yield element
    else:
        for element in elements:
            yield element
