"""KafkaWriter: what a program, or a task of Spark, writes to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never, Self, final

import anyio
import numpy as np

from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, WriteContext
from asyncsink.errors import DestinationUnavailableError, StalledError, WriterClosedError
from asyncsink.metrics import WriterMetrics
from asyncsink.writer import WriterStatistics
from asyncsink_kafka.converter import KafkaConverter
from asyncsink_kafka.encoding import codec
from asyncsink_kafka.partitioning import make_partitioner
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records
from asyncsink_kafka.row_checks import topic_fault
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.delivery import Delivery
from asyncsink_kafka.writer.intake import Intake, Part
from asyncsink_kafka.writer.life import BookedWriter
from asyncsink_kafka.writer.plain import plain_size

if TYPE_CHECKING:
    from asyncsink_kafka.sink import KafkaSink

_NO_CONTEXT = WriteContext()

LEAST_FREE = 0.25
"""Share of a full buffer that is free before it takes rows again."""


@final
class KafkaWriter(BookedWriter[KafkaTransaction, Never]):
    """Writes rows to Kafka; an async context manager that one task of an asyncio loop enters and leaves.

    Batching, repeating, order within a partition and idempotence are the producer's, below; options, accounting, dead
    letters, rate limit and metrics are the kernel's. A write waits only while the buffer is full. Every flush returns
    when all that was accepted before it is stored as ``acks`` asks, or given up as ``onRejected`` says.

    A fatal error surfaces once, at the next call; later calls raise :class:`~asyncsink.WriterFailedError`.
    """

    def __init__(self, sink: KafkaSink, context: InitContext, config: AsyncSinkWriterConfig) -> None:
        super().__init__()
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
        self._partitioner = make_partitioner(options.partitioner, batch_size_in_bytes=sink.batch_size(config))
        self._codec = codec(options.compression, options.compression_level)
        self._good_topics = {options.topic} - {None}
        """Topics that rows were found to name rightly."""
        self._ignores_context = isinstance(self._converter, KafkaConverter)
        self._thread: int | None = None
        self._delivery: Delivery
        self._books: Books

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Connect and start.

        :raises RequestError: the brokers refuse this client
        :raises DestinationUnavailableError: none of them answers within ``retry.timeout``
        """
        self._enter()
        self._thread = threading.get_ident()
        self._delivery = Delivery(self._sink, self._init, self._config, self._partitioner, self._codec)
        self._books = self._delivery.books
        group = self._init.metric_group
        if group.is_registered:
            most = self._config.max_batch_size
            self._delivery.requests.metrics = WriterMetrics(group, self.statistics, most)
        self._partitioner.open(self._init.writer_id, None)
        self._converter.open(self._init)
        try:
            await self._delivery.start()
        except BaseException as error:
            self._books.close()
            await self._delivery.leave(error)
            raise
        return self

    async def withdraw(self) -> Records | None:
        """Give the brokers up at once, and return all that they have not acknowledged, for others to deliver.

        In the order of their sequences, with the topics that they were routed to and, where they were encoded already,
        with timestamps, and without the partitions that they may have asked for. Some may be stored all the same. The
        writer then holds nothing, and is closed; it may have failed before, as brokers do not answer. May be called
        from any task of the loop.

        :raises WriterClosedError: the writer is not entered, or closed already; or it writes a transaction, with which
            acknowledged rows would be lost
        :raises DeliveryError: the writer had failed with it, by more than brokers that do not answer; or dead letters
            of other rows could not be written
        """
        if not self._entered or self._books.is_closed:
            raise WriterClosedError("only from a writer that is open can rows be withdrawn")
        if self._init.transaction is not None:
            raise WriterClosedError(
                "rows of a transaction cannot be withdrawn: those acknowledged would be lost with it"
            )
        if not isinstance(self._books.failure, DestinationUnavailableError | StalledError | None):
            self._books.check()
        self._books.excuse()
        self._books.close()
        try:
            return await self._delivery.withdraw()
        finally:
            self._end_counts()

    def _close(self) -> None:
        if not self._books.is_closed:
            self._books.close()
            self._end_counts()

    def _end_counts(self) -> None:
        self._statistics = self._delivery.statistics()
        if self._delivery.requests.metrics is not None:
            self._delivery.requests.metrics.close()

    # ---- writing ---------------------------------------------------------------------------------------------

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        """Accept one element: a :class:`KafkaRecord`, a value, or a mapping with the columns' names.

        :raises RejectedEntryError: it can never be sent, and ``onRejected`` is ``fail``
        """
        self._check()
        if self._delivery.pile.is_full:
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
        is_first = self._delivery.pile.is_empty
        self._delivery.pile.append(record, self._intake.offer(1, context), size)
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
        if not isinstance(record, KafkaRecord) or (record.topic or self._sink.options.topic) not in self._good_topics:
            return None
        return plain_size(record, self._config.max_record_size_in_bytes)

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

    async def write_records(self, records: Records) -> None:
        """Accept rows that are columns already, each under the sequence that it has; these must ascend.

        In their order, those included that are given up: what a cancelled call has accepted are the first of them.
        """
        await self._begin()
        rows, refused = self._intake.of_columns(records)
        if not refused or self._delivery.rejections.fails:
            await self._accept((rows, refused))
            return
        assert rows is not None
        start = 0
        for each in refused:
            end = int(np.searchsorted(rows.sequence, each.sequence))
            await self._add(rows.slice(start, end))
            await self._delivery.rejections.refuse([each])
            start = end
        await self._add(rows.slice(start, len(rows)))

    async def _begin(self) -> None:
        """Let others have their turn: before anything is accepted, so that a cancelled call has accepted nothing."""
        self._check()
        await anyio.lowlevel.checkpoint()
        self._books.check()

    async def _accept(self, part: Part) -> None:
        rows, refused = part
        if rows is not None and refused and self._delivery.rejections.fails:
            rows = rows.slice(0, int((rows.sequence < refused[0].sequence).sum()))
        if rows is not None:
            await self._add(rows)
        await self._delivery.rejections.refuse(refused)

    async def _add(self, rows: Records) -> None:
        """Accept rows as room comes."""
        while len(rows):
            if not self._fitting(rows):
                await self._books.until(lambda rest=rows: self._fitting(rest) > 0)  # type: ignore[misc]
            count = self._fitting(rows)
            self._delivery.pile.add(rows if count == len(rows) else rows.slice(0, count))
            self._books.notify()
            rows = rows.slice(count, len(rows))

    def _fitting(self, rows: Records) -> int:
        """How many of the first rows there is room for; where nothing is held one goes in, however large.

        All of them, or none as long as little is free: crumbs would have to be put together again.
        """
        books, config = self._books, self._config
        most_bytes, most = config.max_buffered_size_in_bytes, config.max_buffered_requests
        free, places = most_bytes - books.size_in_bytes, most - books.waiting
        if rows.nbytes <= free and len(rows) <= places:
            return len(rows)
        if books.size_in_bytes and (free < LEAST_FREE * most_bytes or places < LEAST_FREE * most):
            return 0
        count = min(len(rows), max(places, 0))
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

    def bound(self, *, max_buffered_requests: int, max_buffered_size_in_bytes: int) -> None:
        """Hold no more than this from now on: the share of a writer that is one of several."""
        self._config = replace(
            self._config,
            max_buffered_requests=max_buffered_requests,
            max_buffered_size_in_bytes=max_buffered_size_in_bytes,
        )
        if self._entered:
            self._books.notify()

    def tell_given_up(self, told: Callable[[int], None]) -> None:
        """Call with the sequence of each row that is dropped or becomes a dead letter; once the writer is entered."""
        self._delivery.rejections.on_given_up = told

    # ---- flush and counts ------------------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        """Return when all that was accepted before the call is stored, or given up for good.

        :raises DeliveryError: the brokers did not take it
        """
        self._check()
        books = self._books
        try:
            await self._delivery.flush()
        finally:
            self._statistics = self._delivery.statistics()
        books.accounting.check(books.held)
        books.accounting.check_rejected(self._config.max_rejected, books.condemned)

    async def prepare_commit(self, flush: bool) -> list[KafkaTransaction]:
        """The transaction of all rows so far; those that follow have another one."""
        await self.flush()
        if self._init.transaction is None:
            return []
        try:
            return await self._delivery.prepare()
        except Exception as error:
            self._books.fail(error)
            self._books.raise_unseen()
            raise

    def statistics(self) -> WriterStatistics:
        """What the writer has done; the present on its own thread, the last published picture on any other."""
        if threading.get_ident() == self._thread and self._entered:
            self._statistics = self._delivery.statistics()
        return self._statistics

    @property
    def failure(self) -> BaseException | None:
        """What it has failed with, whether a call has raised it or not."""
        return self._books.failure if self._entered else None

    @property
    def sent(self) -> tuple[int, int]:
        """The records that requests have carried, and their bytes; what was sent again counts again."""
        if not self._entered:
            return 0, 0
        return self._delivery.requests.sent_records, self._delivery.requests.sent_bytes
