"""The state machine of a two-phase commit, for whoever runs writers: Spark, or `run_local`.

An attempt is begun, and then abandoned, or prepared and done. Between prepared and done it may turn out that the
destination has lost what was prepared: if it has lost all, the attempt counts for nothing and its batch is written
again; if a part, nobody can make it whole, and the coordinator says so and stops.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from asyncsink.committer import GlobalCommitter
from asyncsink.errors import CommitError, ConfigurationError, LedgerError
from asyncsink.ledger.state import KeptState, LedgerState
from asyncsink.sink import Sink
from asyncsink.transactions.committers import Committers, committers_of
from asyncsink.transactions.committing import REMOVE, Lost, as_kept, check_given, commit_until_done, in_time, of_kept
from asyncsink.transactions.log import Decision, Outcome, TransactionLog
from asyncsink.transactions.transaction import Transaction
from asyncsink.writer_states import restored_states

logger = logging.getLogger(__name__)

T = TypeVar("T")

COMMIT_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True)
class Begun:
    """An attempt that has been begun.

    :param transaction: under which writers prepare
    :param committed: the last decision that was carried out; None before the first
    :param recovered: whether that has only been done now, for a predecessor that died
    """

    transaction: Transaction
    committed: Decision | None
    recovered: bool = False


def is_transactional(sink: Sink[Any, Any, Any, Any]) -> bool:
    """Whether what the sink's writers prepare has to be committed."""
    return sink.create_committer() is not None or sink.create_global_committer() is not None


def check_transactional(sink: Sink[Any, Any, Any, Any]) -> None:
    """Refuse a sink with a committer whose committables cannot be kept.

    :raises ConfigurationError: a serializer is missing
    """
    if is_transactional(sink) and sink.committable_serializer is None:
        raise ConfigurationError(_no_serializer(sink, "committable_serializer", "what its writers prepare"))
    if sink.create_global_committer() is not None and sink.global_committable_serializer is None:
        raise ConfigurationError(
            _no_serializer(sink, "global_committable_serializer", "what its GlobalCommitter combines")
        )


def _no_serializer(sink: Sink[Any, Any, Any, Any], name: str, what: str) -> str:
    return (
        f"{type(sink).__name__} has a committer and no {name}: {what} must outlive the process that made it; give it a "
        "SimpleVersionedSerializer, such as DataclassSerializer(...)"
    )


class Coordinator:
    """Begins, decides and carries out the transactions of one sink, by its log.

    :param name: the sink's, for messages
    :param commit_timeout_s: seconds that the commit of a batch may take
    :param is_kept: whether the log outlives the job, so that a later one can finish what this one has decided
    """

    def __init__(
        self,
        name: str,
        sink: Sink[Any, Any, Any, Any],
        log: TransactionLog,
        *,
        commit_timeout_s: float = COMMIT_TIMEOUT_S,
        is_kept: bool = True,
    ) -> None:
        self._name, self._sink, self._log = name, sink, log
        self._commit_timeout_s, self._is_kept = commit_timeout_s, is_kept

    async def begin(self, *, sweep: bool = True) -> Begun:
        """Finish or give up what predecessors have left, and begin an attempt.

        :param sweep: look for what dead attempts have left even if the last one was finished
        :raises CommitError: what was prepared cannot be committed now, or a part of it never
        :raises LedgerError: another planner is at work with this log, or its files cannot be read or written
        :raises Exception: a committer refuses the destination
        """
        async with committers_of(self._name, self._sink) as committers:
            await committers.check_destination()
            return await self._begun(committers, sweep)

    async def _begun(self, committers: Committers, sweep: bool) -> Begun:
        known, recovered = self._log.generations(), False
        if known.begun and known.is_finished:
            committed = self._log.decision(known.begun)
            if committed is None:
                raise LedgerError(f"{self._log.location} lacks the decision on attempt {known.begun}, which is done")
            last, run = committed.transaction, committed.transaction.run
        else:
            last = Transaction(self._log.sink_id(), known.begun, self._log.run_of(known.begun))
            decided = self._log.decide(Decision(outcome=Outcome.ABANDONED, transaction=last)) if known.begun else None
            if decided is not None and decided.outcome is Outcome.PREPARED:
                recovered = await self._is_recovered(committers, decided)
            committed = self._log.decision(last.generation if recovered else known.done)
            run = last.run
            if decided is not None and decided.outcome is not Outcome.SKIPPED:
                run, sweep = run + 1, True
        transaction = Transaction(last.sink_id, last.generation + 1, run)
        self._log.begin(transaction)
        # Only now: of two planners at once, the one that is refused could take away what the other's tasks prepare.
        if sweep:
            await committers.sweep(transaction, self._states(LedgerState() if committed is None else committed.after))
        self._log.tidy(known)
        return Begun(transaction, committed, recovered)

    async def _is_recovered(self, committers: Committers, decided: Decision) -> bool:
        """Commit what a predecessor has prepared; False if it is lost as a whole."""
        what = _described(self._name, decided)
        logger.warning("%s was prepared by a process that is no more, and is committed now", what)
        # A batch job that is run again may find its name committed, and then commits nothing that would say it.
        end_of_input = decided.batch_id is None
        if await self._is_carried_out(committers, decided, what, end_of_input=end_of_input, is_recovery=True):
            self._log.finish(decided.transaction.generation)
            return True
        logger.warning("%s was prepared, and lost as a whole before it was committed; it is written again", what)
        return False

    async def commit(self, decision: Decision, *, end_of_input: bool = False, sweep: bool = True) -> None:
        """Decide that the attempt is committed, or only skipped, and carry it out.

        :param end_of_input: whether nothing will ever be committed after it by the same writers
        :param sweep: remove what losing attempts have left; not while the writer lives on
        :raises LedgerError: it was decided otherwise before: nothing of it will ever be committed
        :raises CommitError: it is decided, and could not be carried out now; or the destination has lost a part of it
        """
        async with committers_of(self._name, self._sink) as committers:
            await self._decide(committers, decision)
            if decision.outcome is Outcome.PREPARED:
                what = _described(self._name, decision)
                await self._is_carried_out(committers, decision, what, end_of_input=end_of_input)
            if sweep:
                # Before it is done: of a sweep that hangs a successor then knows, and takes other names.
                await self._sweep(committers, decision)
        if decision.outcome is Outcome.PREPARED:
            self._log.finish(decision.transaction.generation)

    async def _sweep(self, committers: Committers, decision: Decision) -> None:
        try:
            await committers.sweep(decision.transaction, self._states(decision.after))
        except ConfigurationError as error:
            if decision.batch_id is not None or decision.job is not None:
                raise
            # A job without a name that failed for it would be run again, and write its rows once more.
            logger.warning("%s is committed, and not to be run so again: %s", _described(self._name, decision), error)

    async def _decide(self, committers: Committers, decision: Decision) -> None:
        transaction, what = decision.transaction, _described(self._name, decision)
        if decision.outcome is Outcome.PREPARED:
            await committers.check(self._read(decision.committables))
        if self._log.decide(decision) is not decision:
            raise LedgerError(
                f"{what} cannot be committed: attempt {transaction.generation} in {self._log.location} was decided "
                "before, by another query or job there that took this one for dead; it writes a micro-batch again; "
                "start a batch job again, with a location of its own if both are alive"
            )
        self._check_newest(transaction, what)

    async def abort(self, transaction: Transaction, committables: Sequence[KeptState]) -> None:
        """Give up the attempt, unless it is decided: then nothing is done, as whoever has decided goes on."""
        abandoned = Decision(outcome=Outcome.ABANDONED, transaction=transaction)
        if self._log.decide(abandoned) is not abandoned or self._newest() > transaction.generation:
            return
        if committables:
            async with committers_of(self._name, self._sink) as committers:
                await committers.abort(self._read(committables))

    async def settle(self) -> Begun:
        """Finish or give up what a dead process has left, as its successor would; nothing is begun that lasts.

        A live process loses its present attempt: the batch is written again once it is started again. Raises as
        :meth:`begin` does.
        """
        begun = await self.begin()
        await self.abort(begun.transaction, ())
        return begun

    async def open_transactions(self) -> Sequence[str]:
        """What there is of this sink at its destination that is not committed, a line for each; nothing is changed.

        :raises LedgerError: the log cannot be read
        :raises Exception: the committer cannot tell
        """
        generation = self._log.generations().begun
        if not generation:
            return ()
        transaction = Transaction(self._log.sink_id(), generation, self._log.run_of(generation))
        async with committers_of(self._name, self._sink) as committers:
            return await committers.open_transactions(transaction)

    def _check_newest(self, transaction: Transaction, what: str) -> None:
        """A zombie may have waited until the file that had decided against it was removed."""
        if (begun := self._newest()) > transaction.generation:
            raise LedgerError(
                f"{what} cannot be committed: attempt {begun} has begun in {self._log.location}, and this was attempt "
                f"{transaction.generation}; whoever began it has seen to this batch"
            )

    def _newest(self) -> int:
        return self._log.generations().begun

    async def _is_carried_out(
        self,
        committers: Committers,
        decision: Decision,
        what: str,
        *,
        end_of_input: bool = False,
        is_recovery: bool = False,
    ) -> bool:
        """Commit what was prepared; False if a predecessor's was lost as a whole, so that its batch can be repeated."""
        committables = self._read(decision.committables)
        committer, global_committer = committers.single, committers.overall
        lost = None
        if committer is not None:
            lost = await self._committed(committer.commit, committables, self._committable_serializer, what)
        if global_committer is not None and committables and lost is None:
            lost = await self._committed_globally(global_committer, decision, committables, what, is_recovery)
            if lost is not None and committer is not None:
                lost = replace(lost, of=lost.of + len(committables))
        if lost is not None:
            if is_recovery and lost.is_whole:
                return False
            raise CommitError(self._lost_message(decision.transaction, lost, what))
        if global_committer is not None and end_of_input:
            await self._in_time("end_of_input", global_committer.end_of_input, what)
        return True

    async def _committed_globally(
        self,
        committer: GlobalCommitter[Any, Any],
        decision: Decision,
        committables: list[Any],
        what: str,
        is_recovery: bool,
    ) -> Lost | None:
        serializer, generation = self._sink.global_committable_serializer, decision.transaction.generation
        assert serializer is not None
        kept = self._log.global_committable(generation) if is_recovery else None
        if kept is None:
            combine = partial(committer.combine, committables)
            (combined,) = as_kept(serializer, [await self._in_time("combine", combine, what)])
            kept = self._log.keep_global(generation, combined)
        found = of_kept(serializer, [kept], self._log.location)
        if is_recovery:
            ask = partial(committer.filter_recovered_committables, found)
            recovered = await self._in_time("filter_recovered_committables", ask, what)
            check_given(found, recovered, serializer)
            found = recovered
        return await self._committed(committer.commit, found, serializer, what)

    def _lost_message(self, transaction: Transaction, lost: Lost, what: str) -> str:
        remedies = self._log.remedies(transaction.generation) if self._is_kept else REMOVE
        said = f"the destination has lost {lost.count} of {lost.of} committables of {what} ({lost.reason})"
        if not lost.is_certain:
            return (
                f"the destination cannot tell of {lost.count} of {lost.of} committables of {what} whether they were "
                f"committed ({lost.reason}); look there which rows are visible: {remedies}"
            )
        if lost.is_whole:
            return f"{said}; nothing of it was committed: start the job again, which writes the batch again"
        return f"{said}, and the others are committed; {remedies}"

    async def _committed(
        self, commit: Callable[[Sequence[Any]], Awaitable[list[Any]]], values: Sequence[Any], serializer: Any, what: str
    ) -> Lost | None:
        return await commit_until_done(commit, values, serializer, self._commit_timeout_s, what, is_kept=self._is_kept)

    async def _in_time(self, operation: str, call: Callable[[], Awaitable[T]], what: str) -> T:
        return await in_time(operation, call, self._commit_timeout_s, what, is_kept=self._is_kept)

    def _states(self, kept: LedgerState) -> list[Any]:
        """What writers to come will go on with."""
        return [
            state
            for partition, found in kept.writer_states.items()
            for state in restored_states(self._sink, found, f"the writer of partition {partition}")
        ]

    def _read(self, committables: Sequence[KeptState]) -> list[Any]:
        return of_kept(self._committable_serializer, committables, self._log.location) if committables else []

    @property
    def _committable_serializer(self) -> Any:
        return self._sink.committable_serializer


def _described(name: str, decision: Decision) -> str:
    if decision.batch_id is not None:
        return f"batch {decision.batch_id} of {name!r}"
    return f"job {decision.job!r} of {name!r}" if decision.job is not None else f"the batch job to {name!r}"
