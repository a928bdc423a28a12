"""The writer of one cluster, in a task of its own, so that one that does not answer holds up no other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

import anyio

from asyncsink.context import InitContext
from asyncsink.errors import AsyncSinkError, DeliveryError, WriterClosedError
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster
from asyncsink_dynamic_kafka.writer.cluster_rows import ClusterRows
from asyncsink_dynamic_kafka.writer.failures import NO_ANSWER, named, not_prepared
from asyncsink_dynamic_kafka.writer.origins import CopyBytes
from asyncsink_dynamic_kafka.writer.routes import Departure
from asyncsink_kafka.writer.books import Books

if TYPE_CHECKING:
    from asyncsink_kafka.sink import KafkaSink
    from asyncsink_kafka.transactions.committable import KafkaTransaction
    from asyncsink_kafka.writer import KafkaWriter

logger = logging.getLogger(__name__)

CONNECT_S: Final = 1.0
"""For so long connecting goes on at the end: the client can serve again, and one that is cancelled within its first
request leaves its connection to the garbage collector."""


class ClusterWriter(ClusterRows):
    """Enters the writer of a cluster, hands it rows, and leaves it when the cluster is removed, or at the end.

    :param context: of the writer below
    :param books: those of the whole writer, which fails if this cluster's does
    :param make_sink: makes the sink of a cluster
    :param on_given_up: told of the sequence of each row that can never be delivered
    :param made_at: the number of the metadata with which it begins
    """

    def __init__(
        self,
        cluster: Cluster,
        context: InitContext,
        books: Books,
        make_sink: Callable[[Cluster], KafkaSink],
        on_given_up: Callable[[int], None],
        *,
        is_paused: bool,
        made_at: int,
    ) -> None:
        super().__init__(cluster, books, made_at)
        self.is_paused = is_paused
        self._context, self._make_sink = context, make_sink
        self._on_given_up = on_given_up
        self.prepared: list[KafkaTransaction] = []
        """The transaction of a cluster that was removed."""
        self.departures: list[Departure] = []
        """How the cluster was removed, and what has followed while it was left."""
        self.sink: KafkaSink | None = None
        self._is_connected = self._is_lost = self._is_ending = False
        self.is_over = False
        self._leave_within_s: float | None = None
        self._scope = anyio.CancelScope()

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def is_leaving(self) -> bool:
        """Whether nothing more will be routed to it."""
        return self._leave_within_s is not None

    # ---- life ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Enter the writer below, hand rows to it, and leave it; never raises."""
        try:
            with self._scope:
                await self._until(lambda: not self.is_paused or self.is_leaving or self._is_ending)
                if not (self.is_leaving or self._is_ending):
                    await self._use()
        except Exception as error:
            self._fail(error)
        finally:
            self.return_pending()
            self.is_over = True
            self._books.notify()

    async def _use(self) -> None:
        self.sink = self._make_sink(self.cluster)
        self.sink.entry_serializer = CopyBytes(self.origins)  # type: ignore[misc, assignment]
        self._writer = self.sink.create_writer(self._context)
        self.bound(*self._bounds)
        async with self._writer as writer:
            self._is_connected, self._scope.deadline = True, inf
            writer.tell_given_up(self._on_given_up)
            try:
                await self._work(writer)
            except AsyncSinkError as error:
                if not (self._may_withdraw and self._has_no_answer):
                    raise
                logger.warning("cluster %r does not answer, and its rows go elsewhere: %s", self.name, error)
                await self._withdraw(writer)

    async def _work(self, writer: KafkaWriter) -> None:
        while True:
            await self._until(self._is_due)
            if self._is_lost:
                await self._withdraw(writer)
                return
            if self._leave_within_s is not None:
                await self._leave(writer, self._leave_within_s)
                return
            if self._is_ending:
                return
            await self._hand_over(writer)

    async def _until(self, holds: Callable[[], bool]) -> None:
        # Not by the books' own wait: the error of a failed writer is for the next call, and is raised once.
        while not holds():
            if self._books.is_over:
                raise WriterClosedError("the writer has ended, and this cluster's with it")
            await self._books.changed()

    def _is_due(self) -> bool:
        return self._is_lost or self.is_leaving or self._is_ending or (bool(self._pending) and not self.is_paused)

    def follow(self, cluster: Cluster, *, is_paused: bool) -> None:
        """What the metadata says of it now; no other brokers or properties than those that it is connected by."""
        # What failed while it was inactive is connected to anew when it is active again.
        self._is_lost |= not is_paused and self._may_withdraw and self._has_no_answer
        self.cluster, self.is_paused = cluster, is_paused
        self._books.notify()

    # ---- the end ---------------------------------------------------------------------------------------------

    def leave(self, within_s: float, departure: Departure) -> None:
        """The cluster was removed: deliver what the writer below holds, and end; other rows are returned."""
        self._leave_within_s = within_s
        self.departures.append(departure)
        self._handing.cancel()
        self._stop_connecting()
        self._books.notify()

    def end(self) -> None:
        """Nothing more comes: leave the writer below, which holds nothing by now."""
        self._is_ending = True
        if not self._is_connected:
            self._scope.deadline = anyio.current_time() + CONNECT_S
        self._books.notify()

    def _stop_connecting(self) -> None:
        if not self._is_connected:
            self._scope.cancel()

    async def _leave(self, writer: KafkaWriter, within_s: float) -> None:
        self.return_pending()
        with anyio.move_on_after(within_s) as scope:
            if self._context.transaction is None:
                await writer.flush()
            else:
                self.prepared += await writer.prepare_commit(True)
        if not scope.cancelled_caught:
            return
        if self._context.transaction is not None:
            raise not_prepared(within_s)
        logger.warning(
            "cluster %r was removed and has not answered within removedClusterTimeout = %g s; its rows go elsewhere, "
            "and some may be there twice",
            self.name,
            within_s,
        )
        await self._withdraw(writer)

    @property
    def _may_withdraw(self) -> bool:
        """Whether rows may go elsewhere: those of a transaction only as long as it has none."""
        is_free = self._context.transaction is None or not self._is_connected
        return is_free and (self.is_leaving or self.is_paused)

    @property
    def _has_no_answer(self) -> bool:
        """Whether the writer below has failed because its brokers do not answer, whoever was told so first."""
        return self._writer is not None and isinstance(self._writer.failure, NO_ANSWER)

    def _fail(self, error: Exception) -> None:
        """The whole writer fails with what this cluster's has failed with, unless its rows can go elsewhere."""
        if self._may_withdraw and isinstance(error, NO_ANSWER) and self.statistics.unacknowledged == 0:
            logger.warning("cluster %r could not be connected to: %s", self.name, error)
        else:
            self._books.fail(named(error, self.name))

    # ---- flush -----------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Return when all that was put is stored or given up for good, or goes elsewhere; never raises."""
        await self._changes(lambda: self.is_over or not (self._pending or self.is_leaving))
        if self.is_over or self._writer is None or not self._is_connected:
            return
        try:
            await self._writer.flush()
        except Exception as error:
            if self._may_withdraw and self._has_no_answer:
                self._is_lost = True
                self._books.notify()
            elif not (self.is_leaving or self._is_lost or self.is_over):
                self._books.fail(named(error, self.name))
            await self._changes(lambda: self.is_over)

    async def _changes(self, holds: Callable[[], bool]) -> None:
        while not holds() and not self._books.is_over:
            await self._books.changed()

    async def prepare(self) -> list[KafkaTransaction]:
        """The transaction of all that was put; raises what preparing raises, with the cluster's name."""
        if self._writer is None or not self._is_connected:
            return []
        try:
            return await self._writer.prepare_commit(True)
        except DeliveryError as error:
            raise named(error, self.name) from error
