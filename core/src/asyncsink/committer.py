"""The second phase of a two-phase commit (FLIP-143): what makes visible that writers have prepared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from asyncsink.transactions.transaction import Transaction

CommT = TypeVar("CommT")
GlobalCommT = TypeVar("GlobalCommT")


class Sweeper(ABC, Generic[CommT]):
    """Removes what will never be committed; the base of both committers. FLIP-143 leaves this to each writer.

    It also refuses a destination before a row is written in vain.

    Of a sink that has a :class:`Committer` and a :class:`GlobalCommitter` the former is asked. The conformance kit
    wants :meth:`abort` and :meth:`sweep`: without them what dead attempts have left stays for good.
    """

    async def check_destination(self) -> None:
        """Refuse a destination in which nothing could be committed; nothing by default.

        Asked before each attempt is begun, of both committers: what it has learned a process should remember.

        :raises Exception: no attempt is begun
        """

    async def abort(self, committables: Sequence[CommT]) -> None:
        """Remove what was prepared and will never be committed; nothing by default.

        Only asked once it is decided, for good, that nobody commits them. Where it fails, or the process is killed
        before, they are :meth:`sweep`'s to find.
        """

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        """Remove what writers of this sink have left that nobody will commit; nothing by default.

        Asked where nothing but `transaction` is open: everything else that bears its ``sink_id`` and its generation, or
        one before it, is of dead or losing attempts. What bears a later one belongs to a successor, which has taken
        this process for dead: leave it alone. What bears another id, or none, is not ours. It may be asked at any time
        and any number of times.

        :param transaction: the one that is open, or has just been committed
        :param states: of writers to come, which may have begun something that stays
        """

    async def open_transactions(self, transaction: Transaction) -> Sequence[str]:
        """What bears the ``sink_id`` of `transaction` and is not committed, a line for each; nothing by default.

        For people who ask what a query has left (``python -m asyncsink status --connect``). A live one's is among it;
        nothing is changed.
        """
        return ()


class Committer(Sweeper[CommT], Generic[CommT]):
    """Makes visible what single writers have prepared.

    Being idempotent is the author's duty: after a crash the same committables come again, in another process, and one
    that was committed before must count as committed. One runs at a time, on Spark's driver or in `run_local`, and is
    made anew for each commit.
    """

    async def check(self, committables: Sequence[CommT]) -> None:
        """See that what was prepared can still be committed; nothing by default.

        Asked before it is decided that it is: where this raises nothing is lost, and the batch is written again.
        """

    @abstractmethod
    async def commit(self, committables: Sequence[CommT]) -> list[CommT]:
        """Commit these; returns those to be committed again, after a backoff.

        :raises LostCommittablesError: the destination does not have them any more, so that nobody can commit them
        :raises Exception: the commit is given up: they stay prepared, and are committed when the job starts again
        """

    async def aclose(self) -> None:
        """Give up all resources. May be called twice."""


class GlobalCommitter(Sweeper[CommT], Generic[CommT, GlobalCommT]):
    """Makes visible what all writers have prepared together, such as a snapshot of a table.

    There is one, on Spark's driver or in `run_local`. Being idempotent is the author's duty, as it is a
    :class:`Committer`'s. Of a sink that has both it is given what the committer has committed.
    """

    @abstractmethod
    async def filter_recovered_committables(self, recovered: Sequence[GlobalCommT]) -> list[GlobalCommT]:
        """Those of what a crash has interrupted that have not been committed, and are to be committed now."""

    @abstractmethod
    async def combine(self, committables: Sequence[CommT]) -> GlobalCommT:
        """One global committable of the writers' committables, of which there is at least one."""

    @abstractmethod
    async def commit(self, committables: Sequence[GlobalCommT]) -> list[GlobalCommT]:
        """Commit these; returns those to be committed again, after a backoff. Raises as :meth:`Committer.commit`."""

    async def end_of_input(self) -> None:
        """There will be no committable any more; called after a batch job's commit, never by a streaming query.

        Where a crash has interrupted it, it is called again.
        """

    async def aclose(self) -> None:
        """Give up all resources. May be called twice."""
