"""DynamicKafkaWriter: what a program, or a task of Spark, writes streams to."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self, final

import anyio

from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, WriteContext
from asyncsink.writer import WriterStatistics
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction
from asyncsink_dynamic_kafka.writer.counts import Counts
from asyncsink_dynamic_kafka.writer.delivery import Delivery
from asyncsink_dynamic_kafka.writer.intake import Intake, Part
from asyncsink_dynamic_kafka.writer.settling import Settling
from asyncsink_dynamic_kafka.writer.singles import Singles
from asyncsink_dynamic_kafka.writer.streams import pieces
from asyncsink_dynamic_kafka.writer.tail import Tail
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.life import BookedWriter

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.sink import DynamicKafkaSink

PIECE_SHARE: Final = 16
"""A block is routed in pieces of this part of what the writer may hold, for each cluster to have room again."""


@final
class DynamicKafkaWriter(BookedWriter[DynamicKafkaTransaction, DynamicKafkaWriterState]):
    """Writes records of streams to the clusters that their streams have; a context manager as :class:`KafkaWriter` is.

    :meth:`reconcile_state` follows the metadata on entering, before each write or block, and in :meth:`flush`; a change
    also ends what these wait for. Each cluster has a :class:`KafkaWriter` of its own: one that is not connected yet, or
    does not answer, holds up only calls that write to it.

    The limits are those of the whole writer: of the ``max_buffered_*`` each cluster has an equal part, but room for one
    batch, and a quarter more may wait for its writer. A rate limit is that of each cluster.

    :param states: of earlier writers: what is known while the metadata service does not answer
    """

    def __init__(
        self,
        sink: DynamicKafkaSink,
        context: InitContext,
        config: AsyncSinkWriterConfig,
        states: Sequence[DynamicKafkaWriterState] = (),
    ) -> None:
        super().__init__()
        sink.check_config(config)
        self._sink, self._init, self._config, self._states = sink, context, config, states
        self._converter = sink.converter(context.schema)
        self._intake = Intake(
            self._converter,
            max_record_bytes=config.max_record_size_in_bytes,
            is_subscribed=lambda stream_id: stream_id in self._delivery.metadata.streams,
        )
        self._thread: int | None = None
        self._delivery: Delivery
        self._books: Books
        self._counts: Counts
        self._settling: Settling
        self._singles: Singles
        self._tail: Tail

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Learn of the streams, and connect to their clusters in the background.

        :raises MetadataUnavailableError: the metadata service does not answer, and no state tells of all streams
        :raises MetadataError: what it answers cannot be used, such as an unknown stream
        """
        self._enter()
        self._thread = threading.get_ident()
        self._delivery = Delivery(self._sink, self._init, self._config)
        self._books, self._counts = self._delivery.books, self._delivery.counts
        self._tail, self._settling = self._delivery.tail, self._delivery.settling
        most = self._config.max_record_size_in_bytes
        self._singles = Singles(self._converter, self._intake, self._delivery, most)
        try:
            self._converter.open(self._init)
            await self._delivery.start(self._states)
            self._delivery.tell(self.statistics)
        except BaseException as error:
            self._books.close()
            await self._delivery.leave(error)
            raise
        return self

    async def _finish(self) -> None:
        await super()._finish()
        await self._settling.end()

    def _close(self) -> None:
        if not self._books.is_closed:
            self._statistics = self._counts.statistics()
            self._books.close()

    # ---- reconciling -----------------------------------------------------------------------------------------

    def reconcile_state(self) -> None:
        """Follow the metadata if it has changed: new clusters are connected to, removed ones are given time to store
        what they hold, and rows that are in no cluster's writer yet are routed anew. Costs next to nothing otherwise.

        :raises FatalRequestError: a cluster is inactive, and ``onInactiveCluster`` is ``fail``; the writer has failed
        """
        self._delivery.reconcile()

    # ---- writing ---------------------------------------------------------------------------------------------

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        """Accept one element: a :class:`KafkaStreamRecord`, or what the sink's serializer or converter takes.

        :raises RejectedEntryError: it can never be sent, and ``onRejected`` is ``fail``
        """
        self._check()
        if self._tail.is_full:
            await self._begin()  # a loop that only writes must leave others their turn
        elif not len(self._tail):
            self.reconcile_state()
            await self._delivery.room()
        if not self._singles.take(element, context):
            await self.write_many([element], context)

    async def write_many(self, elements: Sequence[Any], context: WriteContext | None = None) -> None:
        """Accept elements in order. Where it raises, what came before the element at fault has been accepted."""
        await self._begin()
        await self._accept(self._intake.of_elements(elements, context))

    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``, which is routed as columns."""
        await self._begin()
        await self._accept(self._intake.of_batch(batch, context))

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        """Accept a block of :class:`KafkaStreamRecord`."""
        await self._begin()
        await self._accept(self._intake.of_records([block[at] for at in range(len(block))], context))

    async def _begin(self) -> None:
        """Let others have their turn: before anything is accepted, so that a cancelled call has accepted nothing."""
        self._check()
        await anyio.lowlevel.checkpoint()
        self._books.check()
        self.reconcile_state()
        self._delivery.place_tail()
        await self._delivery.room()

    async def _accept(self, part: Part) -> None:
        block, refused = part
        if block is not None and refused and self._delivery.rejections.fails:
            block = block.slice(0, int((block.records.sequence < refused[0].sequence).sum()))
        if block is not None and len(block):
            await self._add(block)
        await self._delivery.rejections.refuse(refused)

    async def _add(self, block: StreamBlock) -> None:
        """Accept rows, a piece at a time; each waits until the clusters that have got the last one have room again."""
        for piece in pieces(block, self._config.max_buffered_size_in_bytes // PIECE_SHARE):
            self._books.accounting.accepted += len(piece)
            self._delivery.put(piece)
            await self._delivery.room()

    # ---- flush, commits and counts ---------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        """Return when all that was accepted is stored as ``acks`` asks, by whatever cluster, or given up for good.

        :raises DeliveryError: a cluster did not take it; the message names the cluster
        """
        self._check()
        try:
            await self._flush()
        finally:
            if not self._books.is_closed:
                self._statistics = self._counts.statistics()

    async def _flush(self) -> None:
        while True:
            self.reconcile_state()
            self._delivery.place_tail()
            await self._settling.flush()
            if not self._delivery.has_news() and self._settling.is_done and not len(self._tail):
                break
        await self._delivery.rejections.flush()
        counted = self._counts.check()
        counted.check_rejected(self._config.max_rejected, self._books.condemned)

    async def prepare_commit(self, flush: bool) -> list[DynamicKafkaTransaction]:
        """The transactions of all rows so far, of each cluster its own; those that follow have others."""
        await self.flush()
        if self._init.transaction is None:
            return []
        try:
            return await self._settling.prepare()
        except Exception as error:
            self._books.fail(error)
            self._books.raise_unseen()
            raise

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[DynamicKafkaWriterState]:
        """The metadata that is known; nothing secret, and no rows: these are stored by then."""
        metadata = self._delivery.metadata
        owning = frozenset(each.name for each in metadata.clusters.values() if each.properties or each.needs_properties)
        return [DynamicKafkaWriterState(metadata.streams, metadata.known_at_ms, owning)]

    def statistics(self) -> WriterStatistics:
        """What the writer has done; the present on its own thread, the last published picture on any other."""
        if threading.get_ident() == self._thread and self._entered and not self._books.is_closed:
            self._statistics = self._counts.statistics()
        return self._statistics
