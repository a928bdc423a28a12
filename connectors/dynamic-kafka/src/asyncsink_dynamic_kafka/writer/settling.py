"""What a writer waits for: room, all rows to be stored, and the end of the clusters that were removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio

from asyncsink.errors import StalledError
from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction
from asyncsink_dynamic_kafka.writer.cluster_writer import ClusterWriter
from asyncsink_dynamic_kafka.writer.clusters import Clusters
from asyncsink_kafka.writer.books import Books


class Settling:
    """Waits, and stops waiting when there is something to reconcile.

    :param has_news: whether the metadata has changed, or rows have come back from a cluster
    :param stall_s: for how long rows may wait for a cluster to become active; None for ever
    """

    def __init__(self, books: Books, clusters: Clusters, has_news: Callable[[], bool], stall_s: float | None) -> None:
        self._books, self._clusters, self._has_news, self._stall_s = books, clusters, has_news, stall_s

    # ---- room ------------------------------------------------------------------------------------------------

    def has_room(self, touched: Iterable[ClusterWriter]) -> bool:
        """Whether no row is without a cluster, and these clusters can take more."""
        return not self._clusters.homeless and all(each.has_room or each.is_leaving for each in touched)

    async def room(self, touched: Iterable[ClusterWriter]) -> None:
        """Return when :meth:`has_room` holds, or there is something to reconcile.

        :raises DeliveryError: the writer has failed meanwhile
        """
        with anyio.move_on_after(self._patience_s(touched)) as scope:
            await self._books.until(lambda: self.has_room(touched) or self._has_news())
        if scope.cancelled_caught:
            self._stalled()
            self._books.check()

    def _patience_s(self, touched: Iterable[ClusterWriter]) -> float | None:
        """Of a cluster that is active its own writer knows when to give up."""
        waits = bool(self._clusters.homeless) or any(each.is_paused and not each.has_room for each in touched)
        return self._stall_s if waits else None

    def _stalled(self) -> None:
        streams = sorted({stream_id for each in self._clusters.homeless for stream_id, _ in each.rows_by_stream()})
        paused = sorted(each.name for each in self._clusters.open.values() if each.is_paused)
        told = f"streams {', '.join(streams)}" if streams else f"clusters {', '.join(paused)}"
        self._books.fail(
            StalledError(
                f"rows of {told} have waited for an active cluster for {self._stall_s:g} s (option stallTimeout); see "
                "what the metadata service says of the clusters, or raise the option"
            )
        )

    # ---- flush -----------------------------------------------------------------------------------------------

    @property
    def is_done(self) -> bool:
        """Whether nothing has still to go to a cluster, and none is being left."""
        clusters = self._clusters
        return not (clusters.homeless or clusters.leaving or any(each.pending_rows for each in clusters.open.values()))

    async def flush(self) -> None:
        """Return when every cluster has stored what it was given, or there is something to reconcile.

        :raises DeliveryError: the writer has failed
        """
        scope = self._books.scope()
        try:
            with scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._until_news, group.cancel_scope)
                    async with anyio.create_task_group() as flushing:
                        for each in self._clusters.all():
                            flushing.start_soon(each.flush)
                        if self._clusters.homeless or any(each.is_paused for each in self._clusters.open.values()):
                            flushing.start_soon(self._placed)
                    group.cancel_scope.cancel()
        finally:
            self._books.leave(scope)
        self._books.check()

    async def _until_news(self, scope: anyio.CancelScope) -> None:
        while not self._has_news():
            await self._books.changed()
        scope.cancel()

    async def _placed(self) -> None:
        """Rows that wait for a cluster to become active: they do so no longer than is allowed."""
        with anyio.move_on_after(self._stall_s) as scope:
            while self._waits():
                await self._books.changed()
        if scope.cancelled_caught:
            self._stalled()

    def _waits(self) -> bool:
        clusters = self._clusters
        return bool(clusters.homeless) or any(each.is_paused and each.pending_rows for each in clusters.open.values())

    # ---- the end ---------------------------------------------------------------------------------------------

    async def prepare(self) -> list[DynamicKafkaTransaction]:
        """The transactions of all clusters, those included that were removed since the last time."""
        for writer in [*self._clusters.open.values()]:
            identifier = writer.cluster.identifier
            for each in await writer.prepare():
                self._clusters.prepared.append(DynamicKafkaTransaction(identifier, each))
        prepared, self._clusters.prepared = self._clusters.prepared, []
        return prepared

    async def end(self) -> None:
        """Leave every cluster's writer in order, so that its client can serve again."""
        writers = [*self._clusters.all()]
        for each in writers:
            each.end()
        await self._books.until(lambda: all(each.is_over for each in writers))
