"""KafkaWriter: what a program, or a task of Spark, writes to."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, Self, final

import anyio
from anyio.abc import TaskGroup

from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, WriteContext
from asyncsink.errors import WriterClosedError
from asyncsink.limits.limiter import LimiterCache
from asyncsink.metrics import WriterMetrics
from asyncsink.sink import SinkWriter
from asyncsink.writer import WriterStatistics
from asyncsink.writer.clock import loop_clock
from asyncsink_kafka.converter import KafkaConverter
from asyncsink_kafka.encoding import codec
from asyncsink_kafka.partitioning import make_partitioner
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records
from asyncsink_kafka.row_checks import topic_fault
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.feeder import Feeder
from asyncsink_kafka.writer.gate import Gate
from asyncsink_kafka.writer.intake import Intake, Part
from asyncsink_kafka.writer.lanes import Lanes
from asyncsink_kafka.writer.rejections import Rejections
from asyncsink_kafka.writer.requests import Requests
from asyncsink_kafka.writer.topics import Topics
from asyncsink_kafka.writer.watch import Watch

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient
    from asyncsink_kafka.sink import KafkaSink

logger = logging.getLogger(__name__)

_NO_CONTEXT = WriteContext()

RECORD_OVERHEAD = 100
"""Bytes, at most about, that a record without headers takes beside its key and value, in memory and in a batch."""


@final
class KafkaWriter(SinkWriter[Any, Never, Never]):
    """Writes rows to Kafka; an async context manager that one task of an asyncio loop enters and leaves.

    Batching, repeating, order within a partition and idempotence are the producer's, below; options, accounting, dead
    letters, rate limit and metrics are the kernel's. A write waits only while the buffer is full. Every flush returns
    when all that was accepted before it is stored as ``acks`` asks, or given up as ``onRejected`` says.

    A fatal error surfaces once, at the next call; later calls raise :class:`~asyncsink.WriterFailedError`.
    """

    def __init__(self, sink: KafkaSink, context: InitContext, config: AsyncSinkWriterConfig) -> None:
        sink.check_config(config)
        self._sink, self._init, self._config = sink, context, config
        options = sink.options
        self._converter = sink.converter(context.schema)
        self._intake = Intake(
            self._converter,
            topic=options.topic,
            allowed=options.allowed,
            max_record_bytes=config.max_record_size_in_bytes,
        )
        self._batch_bytes = sink.batch_size(config)
        self._partitioner = make_partitioner(options.partitioner, batch_size_in_bytes=self._batch_bytes)
        self._codec = codec(options.compression, options.compression_level)
        self._good_topics = {options.topic} - {None}
        """Topics that rows were found to name rightly."""
        self._ignores_context = isinstance(self._converter, KafkaConverter)
        self._stack = AsyncExitStack()
        self._statistics = WriterStatistics()
        self._thread: int | None = None
        self._entered = False
        self._books: Books
        self._client: KafkaClient

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Connect and start.

        :raises RequestError: the brokers refuse this client
        :raises DestinationUnavailableError: none of them answers within ``retry.timeout``
        """
        if self._entered:
            raise WriterClosedError("a writer can be entered once; make a new one")
        self._entered = True
        self._thread = threading.get_ident()
        clock = loop_clock()
        self._books = books = Books(clock)
        self._make(books)
        self._partitioner.open(self._init.writer_id, None)
        self._converter.open(self._init)
        try:
            await self._start()
        except BaseException as error:
            books.close()
            await self._leave(error)
            raise
        return self

    def _make(self, books: Books) -> None:
        options, config, context, clock = self._sink.options, self._config, self._init, books.clock
        limiters = context.clients.limiters(self._sink.client_key) if context.clients else LimiterCache()
        self._gate = Gate(limiters, config, clock)
        self._requests = Requests(self._gate, clock)
        self._rejections = Rejections(self._sink, config, context, books)
        self._feeder = Feeder(
            books,
            self._gate,
            self._rejections,
            self._partitioner,
            self._codec,
            topic=options.topic,
            topics=Topics(config.retry, options.max_block_s, clock),
            linger_s=config.max_time_in_buffer_s,
            batch_bytes=self._batch_bytes,
        )
        self._lanes = Lanes(
            books, self._gate, self._rejections, config.retry, self._feeder.resplit, self._feeder.lower_batch_bytes
        )
        self._watch = Watch(books, self._lanes, config, self._last_error, lambda: repr(self._told()))
        if context.metric_group.is_registered:
            self._requests.metrics = WriterMetrics(context.metric_group, self.statistics, config.max_batch_size)

    async def _start(self) -> None:
        def connect() -> Any:
            return self._sink.connect(self._init, self._config)

        clients = self._init.clients
        leased = connect() if clients is None else clients.lease(self._sink.client_key, connect)
        self._client = await self._stack.enter_async_context(leased)
        self._client.observer = self._requests
        await self._stack.enter_async_context(self._rejections.opened())
        group = await self._stack.enter_async_context(_EndedGroup())
        self._gate.open()
        self._stack.callback(self._gate.close)
        self._feeder.start(self._client, self._lanes)
        self._lanes.start(self._client, group)
        self._rejections.start(group)
        group.start_soon(self._feeder.run)
        group.start_soon(self._watch.run)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        books = self._books
        try:
            if error is None:
                if not books.is_over:
                    await self.flush(end_of_input=True)
            elif books.failure is not None:
                logger.error("the writer had failed as well: %s", books.failure)
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._close()
            await self._leave(error or books.failure)
        if error is None:
            books.raise_unseen()

    async def aclose(self) -> None:
        """Give everything up and close; sends nothing more. May be called from any task of the loop, and twice.

        Warns with the number of unacknowledged rows, some of which may be stored all the same.

        :raises DeliveryError: the error with which the writer had failed, if no call has raised it yet
        """
        if not self._entered or self._books.is_closed:
            return
        self._close()
        self._books.raise_unseen()
        left = self._statistics.unacknowledged
        if left and self._books.failure is None:
            warnings.warn(f"closed with {left} unacknowledged entries", ResourceWarning, stacklevel=2)

    def _close(self) -> None:
        if not self._books.is_closed:
            self._books.close()
            self._statistics = self._told()
            if self._requests.metrics is not None:
                self._requests.metrics.close()

    async def _leave(self, error: BaseException | None) -> None:
        """End the tasks and give the client back; one that still has batches in hand is no good to a successor."""
        if error is None and self._books.held:
            error = WriterClosedError("the writer was closed with unacknowledged rows")
        if error is not None and hasattr(self, "_client"):
            with anyio.CancelScope(shield=True):
                await self._client.abort()
        try:
            await self._stack.__aexit__(type(error) if error else None, error, None)
        except BaseException as raised:
            if raised is not error:
                raise

    # ---- writing ---------------------------------------------------------------------------------------------

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        """Accept one element: a :class:`KafkaRecord`, a value, or a mapping with the columns' names.

        :raises RejectedEntryError: it can never be sent, and ``onRejected`` is ``fail``
        """
        self._check()
        if self._feeder.pile.is_full:
            await anyio.lowlevel.checkpoint()  # a loop that only writes must leave the feeder its turn
        try:
            record = self._converter.apply(element, self._context() if context is None else context)
        except Exception:
            await self.write_many([element], context)  # which says what is wrong with it
            return
        size = self._plain_size(record)
        if size is None:
            await self.write_many([element], context)
            self._learn_topic(record)
            return
        if not self._room(size, 1):
            await self._books.until(lambda: self._room(size, 1))
        is_first = self._feeder.pile.is_empty
        self._feeder.pile.append(record, self._intake.offer(1, context), size)
        if is_first:
            self._books.notify()

    def _context(self) -> WriteContext:
        """The context of the next element; the sink's own converter looks at none."""
        return _NO_CONTEXT if self._ignores_context else WriteContext(sequence=self._intake.next)

    def _learn_topic(self, record: Any) -> None:
        topic = record.topic if isinstance(record, KafkaRecord) else None
        if topic is not None and topic_fault(topic, self._sink.options.allowed) is None:
            self._good_topics.add(topic)

    def _plain_size(self, record: Any) -> int | None:
        """The bytes of a record that can be sent for sure; None for one that has to be looked at."""
        if not isinstance(record, KafkaRecord) or record.headers or record.partition is not None:
            return None
        if (record.topic or self._sink.options.topic) not in self._good_topics:
            return None
        value, key, timestamp = record.value, record.key, record.timestamp
        if not isinstance(value, bytes | None) or not isinstance(key, bytes | None):
            return None
        if timestamp is not None and (type(timestamp) is not int or timestamp < 0):
            return None
        size = len(value or b"") + len(key or b"") + RECORD_OVERHEAD
        return size if size <= self._config.max_record_size_in_bytes else None

    async def write_many(self, elements: Sequence[Any], context: WriteContext | None = None) -> None:
        """Accept elements in order. Where it raises, what came before the element at fault has been accepted."""
        await self._begin()
        await self._accept(self._intake.of_elements(elements, context))

    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``, as columns all the way to the record batches of Kafka."""
        await self._begin()
        await self._accept(self._intake.of_batch(batch, context))

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        """Accept a block of :class:`KafkaRecord`."""
        await self._begin()
        await self._accept(self._intake.of_records([block[at] for at in range(len(block))], context))

    async def _begin(self) -> None:
        """Let others have their turn: before anything is accepted, so that a cancelled call has accepted nothing."""
        self._check()
        await anyio.lowlevel.checkpoint()
        self._books.check()

    async def _accept(self, part: Part) -> None:
        rows, refused = part
        if rows is not None and refused and self._rejections.fails:
            rows = rows.slice(0, int((rows.sequence < refused[0].sequence).sum()))
        if rows is not None:
            await self._add(rows)
        await self._rejections.refuse(refused)

    async def _add(self, rows: Records) -> None:
        """Accept rows as room comes."""
        while len(rows):
            if not self._fitting(rows):
                await self._books.until(lambda rest=rows: self._fitting(rest) > 0)  # type: ignore[misc]
            count = self._fitting(rows)
            self._feeder.pile.add(rows if count == len(rows) else rows.slice(0, count))
            self._books.notify()
            rows = rows.slice(count, len(rows))

    def _fitting(self, rows: Records) -> int:
        """How many of the first rows there is room for; where nothing is held one goes in, however large."""
        books = self._books
        free = self._config.max_buffered_size_in_bytes - books.size_in_bytes
        count = min(len(rows), max(self._config.max_buffered_requests - books.waiting, 0))
        while count and (size := rows.slice(0, count).nbytes) > free:
            # By the average first; rows that are larger than that make it less.
            count = min(count * max(free, 0) // size, count - 1)
        return max(count, 0 if books.size_in_bytes else 1)

    def _room(self, size: int, count: int) -> bool:
        config, books = self._config, self._books
        return (
            books.size_in_bytes + size <= config.max_buffered_size_in_bytes
            and books.waiting + count <= config.max_buffered_requests
        )

    def _check(self) -> None:
        if not self._entered:
            raise WriterClosedError("the writer has not been entered yet; use `async with` it")
        self._books.check()

    # ---- flush and counts ------------------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        """Return when all that was accepted before the call is stored, or given up for good.

        :raises DeliveryError: the brokers did not take it
        """
        self._check()
        books = self._books
        self._feeder.hurry(1)
        try:
            await books.until(lambda: self._feeder.is_empty)
            last = books.last_batch
            await books.until(lambda: books.are_settled(last))
            await self._rejections.flush()
        finally:
            self._feeder.hurry(-1)
            self._statistics = self._told()
        books.accounting.check(books.held)
        books.accounting.check_rejected(self._config.max_rejected, books.condemned)

    def statistics(self) -> WriterStatistics:
        """What the writer has done; the present on its own thread, the last published picture on any other."""
        if threading.get_ident() == self._thread and self._entered:
            self._statistics = self._told()
        return self._statistics

    def _told(self) -> WriterStatistics:
        books, requests, counted = self._books, self._requests, self._books.accounting
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
        return self._client.last_error


class _EndedGroup:
    """A task group whose tasks end with the block, and which leaves the block's own exception as it is."""

    async def __aenter__(self) -> TaskGroup:
        self._group = anyio.create_task_group()
        return await self._group.__aenter__()

    async def __aexit__(self, *exception: object) -> None:
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)
