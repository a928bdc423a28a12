"""All that happens below a writer: discovery, clusters and rejections, and the tasks in which they work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext
from asyncsink.task_groups import cancelled_at_the_end
from asyncsink.writer.clock import loop_clock
from asyncsink_dynamic_kafka.metadata.discovery import MetadataDiscovery
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_dynamic_kafka.writer.cluster_sink import cluster_context
from asyncsink_dynamic_kafka.writer.cluster_writer import ClusterWriter
from asyncsink_dynamic_kafka.writer.clusters import Clusters
from asyncsink_dynamic_kafka.writer.counts import Counts
from asyncsink_dynamic_kafka.writer.metrics import register
from asyncsink_dynamic_kafka.writer.placing import Placing
from asyncsink_dynamic_kafka.writer.reconciling import Reconciling
from asyncsink_dynamic_kafka.writer.settling import Settling
from asyncsink_dynamic_kafka.writer.streams import of_streams, refused
from asyncsink_dynamic_kafka.writer.tail import Tail
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.rejections import Rejections

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.sink import DynamicKafkaSink

GATHER_S: Final = 0.005
"""For how long at most records that are written one by one gather before they are routed."""


class Delivery:
    """Routes rows, and lets clusters' writers deliver them. Made on the loop on which it is to run."""

    def __init__(self, sink: DynamicKafkaSink, context: InitContext, config: AsyncSinkWriterConfig) -> None:
        self._sink, self._init, self._config = sink, context, config
        self.books = books = Books(loop_clock())
        self.tail = Tail(config)
        self.rejections = Rejections(sink, config, context, books)
        self.clusters = Clusters(config)
        self.counts = Counts(books, self.clusters, self.tail)
        self.settling = Settling(books, self.clusters, self.has_news, config.stall_timeout_s)
        self._placing = Placing(self.clusters, sink.make_router())
        self._stack = AsyncExitStack()
        self._generation = -1
        self._touched: set[ClusterWriter] = set()
        """Those that the last rows went to."""
        self._discovery: MetadataDiscovery
        self._reconciling: Reconciling
        self.metadata: StreamMetadata

    # ---- life ------------------------------------------------------------------------------------------------

    async def start(self, states: Sequence[DynamicKafkaWriterState]) -> None:
        """Learn of the streams, and deliver from now on; what has been entered by then has to be left."""
        self._discovery = await self._stack.enter_async_context(self._discoveries())
        self.metadata = await self._discovery.ready(states)
        await self._stack.enter_async_context(self.rejections.opened())
        group = await self._stack.enter_async_context(cancelled_at_the_end())
        options = self._sink.options
        self._reconciling = Reconciling(
            group,
            self.clusters,
            self._placing,
            self._cluster_writer,
            self._cluster_sink,
            on_inactive=options.on_inactive_cluster,
            removed_timeout_s=options.removed_cluster_timeout_s,
        )
        self.reconcile()
        self.rejections.start(group)
        group.start_soon(self._discover)
        group.start_soon(self._announce)
        group.start_soon(self._place_tails)

    def tell(self, read: Any) -> None:
        """Register what is told of the whole writer."""
        register(self._init.metric_group, read, self.clusters, self._discovery)

    @asynccontextmanager
    async def _discoveries(self) -> AsyncIterator[MetadataDiscovery]:
        """The discovery, kept over micro-batches where there is a place for it."""
        clients = self._init.clients
        discovering = self._sink.discovering
        leased = discovering() if clients is None else clients.lease(f"{self._sink.client_key}/metadata", discovering)
        async with leased as discovery:
            yield discovery

    def _cluster_sink(self, cluster: Cluster) -> Any:
        return self._sink.cluster_sink(cluster, self._config)

    def _cluster_writer(self, cluster: Cluster, is_paused: bool, made_at: int) -> ClusterWriter:
        return ClusterWriter(
            cluster,
            cluster_context(self._init, cluster.name),
            self.books,
            self._cluster_sink,
            self.counts.give_up,
            is_paused=is_paused,
            made_at=made_at,
        )

    async def _discover(self) -> None:
        try:
            await self._discovery.run()
        except Exception as error:
            self.books.fail(error)

    async def _announce(self) -> None:
        """Wake whoever waits when the metadata has changed; what they then do follows it."""
        while True:
            await self._discovery.changed(self._discovery.generation)
            self.books.notify()

    async def leave(self, error: BaseException | None) -> None:
        """End the tasks and give back what was leased."""
        try:
            await self._stack.__aexit__(type(error) if error else None, error, None)
        except BaseException as raised:
            if raised is not error:
                raise

    # ---- reconciling -----------------------------------------------------------------------------------------

    def has_news(self) -> bool:
        """Whether there is something to reconcile."""
        return self._discovery.generation != self._generation or self.clusters.has_returned

    def reconcile(self) -> None:
        """Follow the metadata if it has changed, and take what clusters have given back.

        :raises DeliveryError: the writer has failed by it, as where an inactive cluster is to fail it
        """
        try:
            if self._discovery.generation != self._generation:
                assert self._discovery.current is not None
                self._generation, self.metadata = self._discovery.generation, self._discovery.current
                self._reconciling.reconcile(self.metadata)
                self.books.notify()
            elif self.clusters.has_returned:
                self._reconciling.collect()
            self._refuse_homeless()
        except Exception as error:
            # Half of it may be done: nobody may go on by that.
            self.books.fail(error)
            self.books.raise_unseen()
            raise

    def _refuse_homeless(self) -> None:
        """Rows that were accepted of streams that are not there any more fare as later ones do, and wait for nothing.

        :raises RejectedEntryError: of the first, where the user wants an error
        """
        known, homeless = self.metadata.streams, self.clusters.homeless
        gone = [each for block in homeless for each in refused(block, known)]
        if not gone:
            return
        if self.rejections.fails:
            raise gone[0].error()
        self.clusters.homeless = [rest for block in homeless if len(rest := of_streams(block, known))]
        for each in gone:
            self.rejections.reject(each, attempts=0)

    # ---- rows ------------------------------------------------------------------------------------------------

    def put(self, block: StreamBlock) -> None:
        """Route rows that are accepted; :meth:`room` is to be waited for before the next.

        :raises ConfigurationError: the router has failed, and the writer by it
        """
        try:
            self._touched = self._placing.put(block)
        except Exception as error:
            self.books.fail(error)
            self.books.raise_unseen()
            raise

    def place_tail(self) -> None:
        """Route the records that were written one by one."""
        if len(self.tail):
            self.put(self.tail.take())

    async def room(self) -> None:
        """Return when the clusters that got the last rows have room again.

        :raises DeliveryError: the writer has failed meanwhile
        """
        while not self.settling.has_room(self._touched):
            await self.settling.room(self._touched)
            self.reconcile()

    async def _place_tails(self) -> None:
        """Route such records also where nobody writes more of them."""
        pause_s = min(self._config.max_time_in_buffer_s, GATHER_S)
        while not self.books.is_over:
            if not len(self.tail):
                await self.books.changed()
                continue
            await anyio.sleep(pause_s)
            try:
                if len(self.tail):
                    self._touched = self._placing.put(self.tail.take())
            except Exception as error:
                # Nobody has called who could be told: the next call is, or the end of the writer.
                self.books.fail(error)
