"""All that happens below a writer: the parts, the client that they use, and the tasks in which they work."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext
from asyncsink.errors import WriterClosedError
from asyncsink.limits.limiter import LimiterCache
from asyncsink.task_groups import cancelled_at_the_end
from asyncsink.writer import WriterStatistics
from asyncsink.writer.clock import loop_clock
from asyncsink_kafka.encoding import Codec
from asyncsink_kafka.partitioning import Partitioner
from asyncsink_kafka.records import Records
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.feeder import Feeder
from asyncsink_kafka.writer.gate import Gate
from asyncsink_kafka.writer.lanes import Lanes
from asyncsink_kafka.writer.pile import Pile
from asyncsink_kafka.writer.rejections import Rejections
from asyncsink_kafka.writer.requests import Requests
from asyncsink_kafka.writer.topics import Topics
from asyncsink_kafka.writer.watch import Watch

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient
    from asyncsink_kafka.sink import KafkaSink
    from asyncsink_kafka.transactions.committable import KafkaTransaction


class Delivery:
    """Carries rows from the pile to the brokers. Made on the loop on which it is to run."""

    def __init__(
        self,
        sink: KafkaSink,
        context: InitContext,
        config: AsyncSinkWriterConfig,
        partitioner: Partitioner,
        codec: Codec,
    ) -> None:
        self._sink, self._init, self._config = sink, context, config
        clock = loop_clock()
        self.books = books = Books(clock)
        limiters = context.clients.limiters(sink.client_key) if context.clients else LimiterCache()
        self._gate = Gate(limiters, config, clock)
        self.requests = Requests(self._gate, clock)
        self.rejections = Rejections(sink, config, context, books)
        self.feeder = Feeder(
            books,
            self._gate,
            self.rejections,
            partitioner,
            codec,
            topic=sink.options.topic,
            topics=Topics(config.retry, sink.options.max_block_s, clock),
            linger_s=config.max_time_in_buffer_s,
            batch_bytes=sink.batch_size(config),
            transactional=context.transaction is not None,
        )
        self._lanes = Lanes(books, self._gate, self.rejections, self.feeder.resplit, self.feeder.lower_batch_bytes)
        self._watch = Watch(books, self._lanes, config, self._last_error, lambda: repr(self.statistics()))
        self._stack = AsyncExitStack()
        self._client: KafkaClient | None = None
        self._is_withdrawn = False

    @property
    def pile(self) -> Pile:
        """Where rows are accepted."""
        return self.feeder.pile

    # ---- life ------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect, and send from now on. What has been entered by then has to be left, also where this raises."""

        def connect() -> Any:
            return self._sink.connect(self._init, self._config)

        # A transaction has a producer for itself.
        clients = None if self._init.transaction is not None else self._init.clients
        leased = connect() if clients is None else clients.lease(self._sink.client_key, connect)
        self._client = client = await self._stack.enter_async_context(leased)
        client.observer = self.requests
        await self._stack.enter_async_context(self.rejections.opened())
        group = await self._stack.enter_async_context(cancelled_at_the_end())
        self._gate.open()
        self._stack.callback(self._gate.close)
        self.feeder.start(client, self._lanes)
        self._lanes.start(client, group)
        self.rejections.start(group)
        group.start_soon(self.feeder.run)
        group.start_soon(self._watch.run)

    async def leave(self, error: BaseException | None) -> None:
        """End the tasks and give the client back; one that still has batches in hand is no good to a successor."""
        if error is None and (self.books.held or self._is_withdrawn):
            error = WriterClosedError("the writer was closed with unacknowledged rows")
        if error is not None and self._client is not None:
            with anyio.CancelScope(shield=True):
                await self._client.abort()
        try:
            await self._stack.__aexit__(type(error) if error else None, error, None)
        except BaseException as raised:
            if raised is not error:
                raise

    async def withdraw(self) -> Records | None:
        """What is not acknowledged, in order; the writer must be closed. Nothing is sent any more, and nothing held.

        :raises DeadLetterError: dead letters could not be written
        """
        self._is_withdrawn = True
        if self._client is not None:
            with anyio.CancelScope(shield=True):
                await self._client.abort()
        while self.feeder.is_running or self._lanes.are_busy:
            await self.books.changed()
        await self.rejections.settle()
        drained = [each for each in (*self.feeder.drain(), *self._lanes.drain()) if len(each)]
        if not drained:
            return None
        records = Records.concat(drained)
        return records.take(np.argsort(records.sequence, kind="stable"))

    # ---- flush and counts ------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Return when all that was accepted before the call is stored, or given up for good.

        :raises DeliveryError: the brokers did not take it
        """
        books = self.books
        self.feeder.hurry(1)
        try:
            await books.until(lambda: self.feeder.is_empty)
            last = books.last_batch
            await books.until(lambda: books.are_settled(last))
            await self.rejections.flush()
        finally:
            self.feeder.hurry(-1)

    async def prepare(self) -> list[KafkaTransaction]:
        """The transaction that holds all that was flushed, if anything was.

        :raises DeliveryError: it is not open any more
        """
        assert self._client is not None
        transaction = await self._client.prepare()
        return [] if transaction is None else [transaction]

    def statistics(self) -> WriterStatistics:
        """The counts of this moment."""
        books, requests, counted = self.books, self.requests, self.books.accounting
        return WriterStatistics(
            accepted=counted.accepted,
            acknowledged=counted.acknowledged,
            dead_lettered=counted.dead_lettered,
            dropped=counted.dropped,
            rejected=counted.rejected + books.condemned,
            buffered_entries=books.waiting + books.condemned,
            in_flight_entries=books.in_flight,
            in_flight_requests=requests.in_flight,
            size_in_bytes=books.size_in_bytes,
            requests=requests.started_count,
            retried_entries=self._lanes.retried_records,
            throttled_entries=requests.throttled_records,
            failed_requests=requests.failed,
            max_batch_size=self._gate.limiter.budget(),
            last_send_time_s=requests.last_send_time_s,
        )

    def _last_error(self) -> str | None:
        return None if self._client is None else self._client.last_error
