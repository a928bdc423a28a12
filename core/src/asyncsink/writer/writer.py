"""AsyncSinkWriter: what a program writes to."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeVar, final
from uuid import uuid4

from asyncsink.accounting import Accounting
from asyncsink.blocks import EntryBlock
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, WriteContext, idempotency_prefix
from asyncsink.errors import (
    OversizedEntryError,
    StalledError,
    WouldBlock,
    WriterClosedError,
    WriterFailedError,
)
from asyncsink.limits.limiter import LimiterCache
from asyncsink.metrics import WriterMetrics
from asyncsink.sink import SinkWriter
from asyncsink.state import BufferedRequestState
from asyncsink.writer import holdings
from asyncsink.writer.engine import Engine
from asyncsink.writer.flushing import Flusher
from asyncsink.writer.intake import Intake
from asyncsink.writer.life import Life
from asyncsink.writer.rejecting import Refused, Rejections
from asyncsink.writer.room import Room
from asyncsink.writer.runs import RunWriter
from asyncsink.writer.settlement import Settlement
from asyncsink.writer.statistics import WriterStatistics

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink

InputT = TypeVar("InputT")
EntryT = TypeVar("EntryT")

logger = logging.getLogger(__name__)


@final
class AsyncSinkWriter(SinkWriter[InputT, Never, BufferedRequestState[EntryT]], Generic[InputT, EntryT]):
    """Writes elements to an :class:`~asyncsink.AsyncSink`: buffered, in batches, within limits, until acknowledged.

    An async context manager that one task enters and leaves; other tasks of the same loop may write meanwhile.
    Leaving it normally flushes, then closes; with an exception it closes at once. A write waits only while the buffer
    is full. An element is accepted when the write returns, and then it is in :meth:`snapshot_state` until the
    destination has acknowledged it, whatever happens in between: failure, cancellation, closing.

    A fatal error surfaces once, at the next call; later calls raise :class:`WriterFailedError`.
    """

    def __init__(
        self,
        sink: AsyncSink[InputT, EntryT, Any],
        context: InitContext,
        config: AsyncSinkWriterConfig,
        states: Sequence[BufferedRequestState[EntryT]] = (),
    ) -> None:
        self._init, self._config = context, config
        restored = BufferedRequestState.joined(states)
        self._state: BufferedRequestState[EntryT] | None = restored
        limiters = context.clients.limiters(sink.client_key) if context.clients else LimiterCache()
        # Spark counts attempts from 0 again after a restart, and cuts may fall elsewhere then: an id that came again
        # with other entries would be taken for a repetition, and they would be lost. Hence the random part, unless the
        # cuts are the same each time; what is restored stands before them and would move them.
        shared = prefix = idempotency_prefix(context)
        if config.batching == "eager" or restored.entries:
            prefix = f"{shared}{context.attempt}.{uuid4().hex[:8]}-"
        sink.check_config(config)
        self._accounting = Accounting()
        self._engine = Engine(sink, config, limiters, prefix, self._accounting)
        self._engine.time.on_stall = self._stalled
        self._rejections = Rejections(sink, self._engine, context, shared, self._check)
        self._settlement = Settlement(sink, self._engine, self._rejections)
        self._life = Life(sink, context)
        self._tail = self._engine.tail
        self._intake = Intake(sink.converter(context.schema), self._engine)
        self._apply, self._context = self._intake.converter.apply, self._intake.context
        self._size_of = sink.size_in_bytes
        self._room = Room(self._engine, self._check)
        self._runs = RunWriter(self._engine, self._room, self._intake, self._rejections)
        self._flusher = Flusher(self._engine, self._rejections, self._check)
        self._entered = self._closed = self._seen = self._asked = self._warned = False
        self._thread: int | None = None
        self._statistics = WriterStatistics()

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Connect, let the sink learn from its client, take over the restored states, and start.

        Whatever raises, the client is given back, and what was to be restored is in the snapshot.

        :raises OversizedEntryError: a restored entry is larger than ``max_record_size_in_bytes``
        :raises ConfigurationError: by the sink's own limit an entry may be larger than a request
        """
        if self._entered:
            raise WriterClosedError("a writer can be entered once; make a new one with its snapshot_state()")
        if self._closed:
            raise WriterClosedError("the writer was closed before it was entered; make a new one")
        self._entered = True
        self._thread = threading.get_ident()
        group = self._init.metric_group
        if group.is_registered:
            self._engine.metrics = WriterMetrics(group, self.statistics, self._config.max_batch_size)
        try:
            await self._life.connect(self._engine)
            self._restore()
            self._intake.converter.open(self._init)
            await self._life.start(self._engine, self._rejections, self._ended)
        except BaseException as error:
            self._close()
            await self._life.leave(error)
            raise
        return self

    def _restore(self) -> None:
        state, limit = self._state, self._engine.max_record_size_in_bytes
        assert state is not None
        large = next((size for size in state.sizes if size > limit), None)
        if large is not None:
            raise OversizedEntryError(
                f"a restored entry has {large} bytes, more than max_record_size_in_bytes = {limit}; raise the limit"
            )
        if state.entries:
            self._engine.add(self._engine.maker.make(state.entries, state.sizes), state.size_in_bytes)
        # Only now: if the sink raises for a restored entry, all of them are still in the snapshot.
        self._accounting.restored, self._state = len(state.entries), None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                if not self._closed and not self._seen:
                    await self.flush(end_of_input=True)
            elif self._engine.failure is not None and not self._seen:
                logger.error("the writer had failed as well: %s", self._engine.failure)
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._close()
            await self._life.leave(error or self._engine.failure)
        if error is None:
            self._raise_unseen()
            self._warn_of_left()

    async def aclose(self) -> None:
        """Cut every request short and close; sends nothing. May be called from any task of the loop, and twice.

        Calls that wait raise :class:`WriterClosedError`. Warns with the number of unacknowledged entries. The client
        is given back when the writer is left.

        :raises DeliveryError: the error with which the writer had failed, if no call has raised it yet
        """
        if self._closed:
            return
        self._close()
        self._raise_unseen()
        self._warn_of_left()

    def _warn_of_left(self) -> None:
        left = self._statistics.unacknowledged
        if left and not self._warned and self._engine.failure is None:
            self._warned = True
            warnings.warn(f"closed with {left} unacknowledged entries", ResourceWarning, stacklevel=3)

    def _close(self) -> None:
        if not self._closed:
            self._engine.close_tail()
            self._closed = True
            self._engine.close()
            self._publish()
            if self._engine.metrics is not None:
                self._engine.metrics.close()

    def _raise_unseen(self) -> None:
        if self._engine.failure is not None and not self._seen:
            self._seen = True
            raise self._engine.failure

    def _check(self) -> None:
        """Raise if the writer has failed, is closed or has not been entered."""
        failure = self._engine.failure
        if failure is not None:
            self._raise_unseen()
            raise WriterFailedError(f"the writer has failed before: {failure}") from failure
        if self._engine.is_closed:
            raise WriterClosedError("the writer is closed; make a new one with its snapshot_state()")
        if not self._engine.is_open:
            raise WriterClosedError("the writer has not been entered yet; use `async with` it")

    # ---- writing ---------------------------------------------------------------------------------------------

    async def write(self, element: InputT, context: WriteContext | None = None) -> None:
        """Accept one element; waits while the buffer is full.

        :raises OversizedEntryError: its entry is larger than ``max_record_size_in_bytes``
        :raises ConversionError: the converter raised for it
        """
        tail = self._tail
        room = tail.room
        if not room:
            await self._room.wait(1)
            tail.open()
            self._check()
            room = tail.room
        try:
            entry = self._apply(element, self._context if context is None else context)
        except Exception as error:
            await self._refuse(self._intake.refused(element, self._intake.offer(1, context), error))
            return
        size = self._size_of(entry)
        offset = tail.offset + size
        if offset >= 0:
            await self._append_last(entry, size, self._intake.offer(1, context))
            return
        tail.entries.append(entry)
        tail.offsets.append(offset)
        tail.offset = offset
        tail.room = room = room - 1
        if not room:
            self._engine.plan()

    async def _append_last(self, entry: EntryT, size: int, sequence: int) -> None:
        """Accept an entry that uses up the bytes of the open tail, or does not fit into the buffer yet, or never."""
        if size > self._engine.max_record_size_in_bytes:
            await self._refuse(Refused(self._intake.oversized(size), sequence, entry=entry))
            return
        while not self._room.fits(size):
            await self._room.wait(size)
        self._tail.open()
        self._check()
        self._tail.append(entry, size)
        self._engine.plan()

    async def _refuse(self, refused: Refused) -> None:
        """Give up an element that can never be sent; raise for it if that is what the user wants."""
        if not self._rejections.fails:
            await self._rejections.keep([refused])
            self._check()
        self._engine.close_tail()
        self._rejections.accept(refused)

    def write_nowait(self, element: InputT) -> None:
        """Accept one element without waiting; what FLIP-171 left out as ``isAvailable``.

        It cannot wait for a dead letter either: what can never be sent raises, unless it is to be dropped.

        :raises WouldBlock: the buffer is full
        :raises RejectedEntryError: it cannot be converted or is too large, and has not been accepted
        """
        self._check()
        if not self._room.fits(1):
            raise WouldBlock(f"the buffer holds {self._engine.waiting_count} entries and is full; wait_available()")
        try:
            entry = self._apply(element, self._context)
        except Exception as error:
            self._refuse_nowait(self._intake.refused(element, self._context.sequence, error))
            return
        size = self._size_of(entry)
        if size > self._engine.max_record_size_in_bytes:
            self._refuse_nowait(Refused(self._intake.oversized(size), self._context.sequence, entry=entry))
            return
        if not self._room.fits(size):
            raise WouldBlock(f"the buffer has no room for {size} more bytes; wait_available()")
        self._engine.add(self._engine.maker.make([entry], [size]), size)
        self._tail.number(1)
        self._accounting.accepted += 1
        self._engine.plan()

    def _refuse_nowait(self, refused: Refused) -> None:
        if self._config.on_rejected != "drop":
            raise refused.error
        self._tail.number(1)
        self._rejections.accept(refused)

    async def wait_available(self) -> None:
        """Wait until one more entry of any legal size fits; several producers loop over it and write_nowait."""
        await self._room.wait(self._engine.max_record_size_in_bytes)

    async def write_many(self, elements: Sequence[InputT], context: WriteContext | None = None) -> None:
        """Accept elements in order, converted in runs as room comes; ``context.sequence`` is that of the first.

        Where it raises, what came before the element at fault has been accepted.
        """
        self._check()
        try:
            await self._runs.write_many(elements, context)
        except BaseException:
            self._publish()
            raise

    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``, by the converter's ``apply_batch`` if it has one.

        Without it the elements are the rows as dictionaries.
        """
        self._check()
        apply_batch = getattr(self._intake.converter, "apply_batch", None)
        if apply_batch is None:
            await self.write_many(batch.to_pylist(), context)
            return
        try:
            await self._runs.write_batch(batch, context, apply_batch)
        except BaseException:
            self._publish()
            raise

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        """Accept a block of converted entries, in slices as room comes. A cancelled call has accepted a prefix.

        :raises OversizedEntryError: an entry is too large; those before it have been accepted
        """
        self._check()
        first = self._intake.offer(len(block), context)
        try:
            await self._runs.write_block(block, range(first, first + len(block)))
        except BaseException:
            self._publish()
            raise

    # ---- flush and state -------------------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        """Wait for what is under way.

        ``flush(True)`` ends when all that was accepted before the call is acknowledged, with all the concurrency that
        the limits allow. ``flush(False)`` ends with the first ending of each request that was in flight when it was
        called; what fails stays buffered. Both end within the deadlines and the retry policy.

        :raises DeliveryError: the destination did not take what was accepted
        """
        try:
            await self._flusher.flush(end_of_input)
        finally:
            self._publish()

    def _stalled(self, for_s: float) -> None:
        self._engine.fail(
            StalledError(
                f"nothing was acknowledged for {for_s:.1f} s (stall_timeout_s = {self._config.stall_timeout_s:g}), "
                f"though entries wait: {self._told()}. See whether the destination answers, or raise stall_timeout_s"
            )
        )

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[BufferedRequestState[EntryT]]:
        """Exactly one state: every unacknowledged entry in order, in flight included. Usable after a failure too."""
        if self._state is not None:
            return [self._state]
        self._engine.close_tail()
        return [holdings.snapshot(self._engine)]

    def statistics(self) -> WriterStatistics:
        """What the writer has done; the present on its own thread, the last published picture on any other."""
        if threading.get_ident() == self._thread:
            self._engine.close_tail()
            self._publish()
        else:
            self._asked = True
        return self._statistics

    def _publish(self) -> None:
        self._statistics = self._told()

    def _told(self) -> WriterStatistics:
        return holdings.statistics(self._engine, self._settlement, self._state if self._entered else None)

    def _ended(self, request: Any, answer: Any) -> None:
        self._settlement.ended(request, answer)
        if self._asked:
            self._asked = False
            self._publish()
