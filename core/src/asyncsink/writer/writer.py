"""AsyncSinkWriter: what a program writes to."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeVar, final
from uuid import uuid4

from asyncsink.blocks import EntryBlock, fitting
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, WriteContext, idempotency_prefix
from asyncsink.errors import OversizedEntryError, WouldBlock, WriterClosedError, WriterFailedError
from asyncsink.limits.limiter import LimiterCache
from asyncsink.sink import SinkWriter
from asyncsink.state import BufferedRequestState
from asyncsink.writer import accounting
from asyncsink.writer.engine import Engine
from asyncsink.writer.intake import Intake, at
from asyncsink.writer.life import Life
from asyncsink.writer.settlement import Settlement
from asyncsink.writer.statistics import WriterStatistics
from asyncsink.writer.tail import OpenTail

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
        self._state: BufferedRequestState[EntryT] | None = BufferedRequestState.joined(states)
        limiters = context.clients.limiters(sink.fingerprint) if context.clients else LimiterCache()
        # Spark counts attempts from 0 again after a restart, and cuts may fall elsewhere then: an id that came again
        # with other entries would be taken for a repetition, and they would be lost. Hence the random part.
        prefix = f"{idempotency_prefix(context)}{context.attempt}.{uuid4().hex[:8]}-"
        self._engine = Engine(sink, config, limiters, prefix, self._close_tail)
        self._settlement = Settlement(sink, self._engine)
        self._life = Life(sink, context)
        self._max_record = config.max_record_size_in_bytes
        self._intake = Intake(sink.converter(context.schema), self._engine.maker, self._max_record)
        self._apply, self._context = self._intake.converter.apply, self._intake.context
        self._size_of = sink.size_in_bytes
        self._tail = OpenTail(self._engine)
        self._accepted = self._restored = self._flushes = 0
        self._entered = self._closed = self._seen = self._asked = self._warned = False
        self._thread: int | None = None
        self._statistics = WriterStatistics()

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Connect, take over the restored states, and start.

        :raises OversizedEntryError: a restored entry is larger than ``max_record_size_in_bytes``
        """
        if self._entered:
            raise WriterClosedError("a writer can be entered once; make a new one with its snapshot_state()")
        if self._closed:
            raise WriterClosedError("the writer was closed before it was entered; make a new one")
        self._entered = True
        self._thread = threading.get_ident()
        try:
            self._restore()
            self._intake.converter.open(self._init)
            await self._life.enter(self._engine, self._ended)
        except BaseException:
            self._close()
            raise
        return self

    def _restore(self) -> None:
        state, limit = self._state, self._max_record
        assert state is not None
        large = next((size for size in state.sizes if size > limit), None)
        if large is not None:
            raise OversizedEntryError(
                f"a restored entry has {large} bytes, more than max_record_size_in_bytes = {limit}; raise the limit"
            )
        if state.entries:
            self._engine.add(self._engine.maker.make(state.entries, state.sizes), state.size_in_bytes)
        # Only now: if the sink raises for a restored entry, all of them are still in the snapshot.
        self._restored, self._state = len(state.entries), None

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
            self._close_tail()
            self._closed = True
            self._engine.close()
            self._publish()

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
        if not tail.room:
            await self._room(1)
            tail.open()
        if context is None:
            context = self._context
            context.sequence += 1
        try:
            entry = self._apply(element, context)
        except Exception as error:
            raise self._intake.unconvertible(context.sequence, error) from error
        size = self._size_of(entry)
        left = tail.bytes_left - size
        if left <= 0 or size > self._max_record:
            await self._append_last(entry, size)
            return
        tail.entries.append(entry)
        tail.sizes.append(size)
        tail.bytes_left = left
        tail.room = room = tail.room - 1
        if not room:
            self._engine.plan()

    async def _append_last(self, entry: EntryT, size: int) -> None:
        """Accept an entry that uses up the bytes of the open tail, or does not fit into the buffer yet."""
        self._intake.check_size(size)
        while not self._takes(size):
            await self._room(size)
        self._tail.append(entry, size)
        self._engine.plan()

    def write_nowait(self, element: InputT) -> None:
        """Accept one element without waiting; what FLIP-171 left out as ``isAvailable``.

        :raises WouldBlock: the buffer is full
        """
        self._check()
        if not self._fits(1):
            raise WouldBlock(f"the buffer holds {self._engine.waiting_count} entries and is full; wait_available()")
        entry, size = self._intake.convert(element)
        if not self._fits(size):
            self._context.sequence -= 1
            raise WouldBlock(f"the buffer has no room for {size} more bytes; wait_available()")
        self._engine.add(self._engine.maker.make([entry], [size]), size)
        self._accepted += 1
        self._engine.plan()

    async def wait_available(self) -> None:
        """Wait until one more entry of any legal size fits; several producers loop over it and write_nowait."""
        await self._room(self._max_record)

    async def write_many(self, elements: Sequence[InputT], context: WriteContext | None = None) -> None:
        """Accept elements in order, converted in runs as room comes; ``context.sequence`` is that of the first.

        Where it raises, what came before the element at fault has been accepted.
        """
        self._check()
        first, start = self._intake.offer(len(elements), context), 0
        while start < len(elements):
            await self._room(1)
            stop = min(len(elements), start + self._config.max_buffered_requests - self._engine.waiting_count)
            part = elements if stop - start == len(elements) else elements[start:stop]
            if not await self._write_run(part, at(context, first + start), self._intake.converter.apply_many):
                for sequence, element in enumerate(part, first + start):
                    await self.write(element, at(context, sequence))
            start = stop

    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``, by the converter's ``apply_batch`` if it has one.

        Without it the elements are the rows as dictionaries.
        """
        await self._room(1)
        apply_batch = getattr(self._intake.converter, "apply_batch", None)
        if apply_batch is None:
            await self.write_many(batch.to_pylist(), context)
            return
        first = self._intake.offer(len(batch), context)
        if not await self._write_run(batch, at(context, first), apply_batch):
            for row in range(len(batch)):
                await self._room(1)
                alone = at(context, first + row)
                await self.write_block(self._intake.convert_row(batch.slice(row, 1), alone, apply_batch))

    async def _write_run(self, run: Any, context: WriteContext, convert: Callable[[Any, WriteContext], Any]) -> bool:
        """Convert a run at once and accept it; False where converting fails, and the one at fault has to be found."""
        block = self._intake.convert_run(run, context, convert)
        if block is not None:
            await self.write_block(block)
        return block is not None

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        """Accept a block of converted entries, in slices as room comes. A cancelled call has accepted a prefix.

        :raises OversizedEntryError: an entry is too large; those before it have been accepted
        """
        try:
            large = block.oversized(self._config.max_record_size_in_bytes)
            await self._write_slices(block, large[0] if large else len(block))
        finally:
            self._publish()
        if large:
            self._intake.check_size(block.size_in_bytes(large[0], large[0] + 1))

    async def _write_slices(self, block: EntryBlock[Any], stop: int) -> None:
        engine, config = self._engine, self._config
        self._check()
        start = 0
        while start < stop:
            await self._room(block.size_in_bytes(start, start + 1))
            end = min(stop, start + config.max_buffered_requests - engine.waiting_count)
            end = max(start + 1, fitting(block, start, end, config.max_buffered_size_in_bytes - engine.size_in_bytes))
            part = block if end - start == len(block) else block.slice(start, end)
            self._close_tail()
            engine.add(part, block.size_in_bytes(start, end))
            self._accepted += end - start
            engine.plan()
            start = end

    # ---- room ------------------------------------------------------------------------------------------------

    def _takes(self, size: int) -> bool:
        """Whether the tail, opened anew, takes an entry of `size` bytes."""
        fits = self._fits(size)
        if fits:
            self._tail.open()
        return fits

    def _fits(self, size: int) -> bool:
        """Whether an entry of `size` bytes may come in; one always may where nothing else is held."""
        self._close_tail()
        engine, config = self._engine, self._config
        held = engine.size_in_bytes
        return engine.waiting_count < config.max_buffered_requests and (
            not held or held + size <= config.max_buffered_size_in_bytes
        )

    async def _room(self, size: int) -> None:
        """Wait until an entry of `size` bytes fits; raise if the writer has failed or is closed."""
        self._check()
        while not self._fits(size):
            self._engine.make_room()
            if not self._fits(size):
                await self._engine.change()
            self._check()

    def _close_tail(self) -> None:
        self._accepted += self._tail.close()

    # ---- flush and state -------------------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        """Wait for what is under way.

        ``flush(True)`` ends when all that was accepted before the call is acknowledged, with all the concurrency that
        the limits allow. ``flush(False)`` ends with the first ending of each request that was in flight when it was
        called; what fails stays buffered. Both end within the deadlines and the retry policy.

        :raises DeliveryError: the destination did not take what was accepted
        """
        try:
            self._check()
            self._close_tail()
            await (self._drain() if end_of_input else self._settle_in_flight())
        finally:
            self._publish()

    async def _settle_in_flight(self) -> None:
        engine = self._engine
        last = next(reversed(engine.in_flight), 0)
        while next(iter(engine.in_flight), last + 1) <= last:
            await engine.change()
            self._check()

    async def _drain(self) -> None:
        engine = self._engine
        before = engine.next_sequence
        self._flushes += 1
        try:
            engine.make_due_before(before)
            while self._settlement.acknowledged < self._accepted + self._restored and (
                engine.next_sequence == before or accounting.first_unacknowledged(engine) < before
            ):
                await engine.change()
                self._check()
        finally:
            self._flushes -= 1
            if not self._flushes:
                engine.flush_before = 0

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[BufferedRequestState[EntryT]]:
        """Exactly one state: every unacknowledged entry in order, in flight included. Usable after a failure too."""
        if self._state is not None:
            return [self._state]
        self._close_tail()
        return [accounting.snapshot(self._engine)]

    def statistics(self) -> WriterStatistics:
        """What the writer has done; the present on its own thread, the last published picture on any other."""
        if threading.get_ident() == self._thread:
            self._close_tail()
            self._publish()
        else:
            self._asked = True
        return self._statistics

    def _publish(self) -> None:
        self._statistics = accounting.statistics(self._engine, self._settlement, self._accepted, self._restored)

    def _ended(self, request: Any, answer: Any) -> None:
        self._settlement.ended(request, answer)
        if self._asked:
            self._asked = False
            self._publish()
