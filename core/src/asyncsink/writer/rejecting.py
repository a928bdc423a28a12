"""What becomes of elements that can never be delivered: ``on_rejected`` decides."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from asyncsink.context import InitContext
from asyncsink.dead_letters import DeadLetter, DeadLetterMaker, DeadLetterQueue, DeadLetterReason
from asyncsink.errors import DeadLetterError, OversizedEntryError, RejectedEntryError
from asyncsink.failures import Failure
from asyncsink.writer.buffer import Lane, Run
from asyncsink.writer.dropped import DroppedCodes
from asyncsink.writer.engine import Engine

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink

logger = logging.getLogger(__name__)

_NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Refused:
    """An element that was written and can never be sent.

    :param error: what to raise for it if the user wants that
    :param sequence: its position among the elements of the writer
    :param place: how many of the entries that were written with it come before it
    :param element: as it was written, where it could not be converted
    :param entry: what it was converted to, where that is too large
    """

    error: RejectedEntryError
    sequence: int
    place: int = 0
    element: Any = _NOTHING
    entry: Any = _NOTHING

    @property
    def is_entry(self) -> bool:
        """Whether it could be converted, and is one of the entries that were written."""
        return self.entry is not _NOTHING


class Rejections:
    """Gives up entries that the destination refuses, and elements that cannot become one.

    An entry whose dead letter is not durable yet is condemned: still held, still in the snapshot, but sent no more.

    :param check: raises if the writer has failed or is closed
    """

    def __init__(
        self,
        sink: AsyncSink[Any, Any, Any],
        engine: Engine,
        context: InitContext,
        prefix: str,
        check: Callable[[], None],
    ) -> None:
        self._engine, self._context, self._check = engine, context, check
        self._mode = engine.config.on_rejected
        self._maker = DeadLetterMaker(sink, context, prefix)
        self._queue: DeadLetterQueue | None = None
        self._dropped = DroppedCodes(logger)

    @property
    def fails(self) -> bool:
        """Whether a rejected entry makes the writer fail."""
        return self._mode == "fail"

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Rejections]:
        """Open the store of dead letters, if there are to be any.

        :raises DeadLetterError: it cannot be written to
        """
        store = self._engine.config.dead_letters
        if self._mode != "dead_letter" or store is None:
            yield self
            return
        async with store.open(self._context) as writer:
            self._queue = DeadLetterQueue(writer, on_written=self._written, on_failed=self._engine.fail)
            yield self

    def start(self, group: TaskGroup) -> None:
        """Write dead letters from now on, in the background."""
        if self._queue is not None:
            group.start_soon(self._queue.run)

    # ---- entries that were sent ------------------------------------------------------------------------------

    def give_up(self, lane: Lane, run: Run, failures: Sequence[Failure], reason: DeadLetterReason) -> None:
        """Entries that have come back for good, each with its failure; never asked where a rejected entry fails."""
        engine = self._engine
        engine.time.progress_s = engine.clock()
        if self._mode == "drop":
            for failure in failures:
                self._dropped.say(failure.code, failure.message)
            engine.accounting.dropped += len(run)
            engine.size_in_bytes -= run.size_in_bytes
            return
        # Held first: a route's own code may raise while its letter is made, and nothing may be lost by that.
        engine.condemned.extend(run.take([index], run.attempts, None) for index in range(run.start, run.stop))
        letters = [
            self._letter(run, index, lane, failure, reason)
            for index, failure in zip(range(run.start, run.stop), failures, strict=True)
        ]
        assert self._queue is not None
        self._queue.put(letters)

    def _letter(self, run: Run, index: int, lane: Lane, failure: Failure, reason: DeadLetterReason) -> DeadLetter:
        # What was restored has no place among the elements of this writer, and its own is not known any more.
        sequence = run.sequence_of(index) - self._engine.accounting.restored
        return self._maker.of_entry(
            run.block[index],
            reason,
            failure.code,
            failure.message,
            sequence=None if sequence < 0 else sequence,
            attempts=run.attempts + (reason is DeadLetterReason.REJECTED),
            first_failed_at=run.failed_ms,
            route=lane.route,
        )

    def _written(self, count: int) -> None:
        engine = self._engine
        for _ in range(count):
            engine.size_in_bytes -= engine.condemned.popleft().size_in_bytes
        engine.accounting.dead_lettered += count
        engine.time.progress_s = engine.clock()
        engine.plan()
        engine.notify()

    async def flush(self) -> None:
        """Return when every dead letter is durable.

        :raises DeliveryError: one could not be written, or the writer has failed meanwhile
        """
        if self._queue is not None:
            await self._wait_for(self._queue.flush)

    # ---- elements that were not ------------------------------------------------------------------------------

    async def keep(self, refused: Sequence[Refused]) -> None:
        """Make the dead letters of elements durable, before the elements are accepted.

        :raises DeliveryError: one could not be written, or the writer has failed meanwhile
        """
        if self._queue is None or not refused:
            return
        engine, letters = self._engine, [self._letter_of(each) for each in refused]
        if not engine.accounting.unacknowledged and not engine.unkept:
            engine.time.begin()
        engine.unkept += len(letters)
        engine.time.rest_or_work()
        try:
            await self._wait_for(partial(self._queue.write, letters))
            engine.time.progress_s = engine.clock()
        finally:
            engine.unkept -= len(letters)
            engine.time.rest_or_work()

    async def _wait_for(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the store, but no longer than the writer lives: a store may hang."""
        scopes, scope = self._engine.waiting_scopes, anyio.CancelScope()
        scopes.add(scope)
        try:
            with scope:
                await work()
        except DeadLetterError as error:
            # By now the writer has failed with it: it says so once, whoever was the first to meet it.
            self._engine.fail(error)
        finally:
            scopes.remove(scope)
        self._check()

    def _letter_of(self, refused: Refused) -> DeadLetter:
        reason = DeadLetterReason.CONVERSION
        if isinstance(refused.error, OversizedEntryError):
            reason = DeadLetterReason.OVERSIZED
        code, message = type(refused.error).__name__, str(refused.error)
        if refused.is_entry:
            return self._maker.of_entry(refused.entry, reason, code, message, sequence=refused.sequence)
        return self._maker.of_element(refused.element, code, message, reason=reason, sequence=refused.sequence)

    def accept(self, refused: Refused) -> None:
        """Accept and settle an element at once, whose dead letter is durable by now.

        :raises RejectedEntryError: the user wants that instead, and the element is not accepted
        """
        if self._mode == "fail":
            raise refused.error
        accounting = self._engine.accounting
        if self._mode == "drop":
            self._dropped.say(type(refused.error).__name__, str(refused.error))
            accounting.dropped += 1
        else:
            accounting.dead_lettered += 1
        accounting.accepted += 1
        self._engine.next_sequence += 1
