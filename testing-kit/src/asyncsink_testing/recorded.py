"""A writer whose every call is kept in the history of its destination."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self

import anyio

from asyncsink import (
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    BufferedRequestState,
    DeliveryError,
    EntryBlock,
    InitContext,
    WriteContext,
    WriterClosedError,
    WriterFailedError,
    WriterInitContext,
    WriterStatistics,
)
from asyncsink_testing.dead_letters import RecordedDeadLetters
from asyncsink_testing.fake_sink import FakeSink
from asyncsink_testing.history import (
    Accepted,
    Closing,
    Failed,
    FlushCalled,
    FlushReturned,
    Gone,
    Offered,
    Opened,
    Quiet,
    SnapshotTaken,
)
from asyncsink_testing.rate_limit import RecordedRateLimit


class RecordedWriter:
    """The writer of a :class:`FakeSink`, with the same calls; an async context manager like it.

    One task at a time may write; others may flush, take snapshots and close. What it accepts is expected to be stored:
    a test that gives entries up takes them out of ``history.expected``.

    :ivar accepted: what it has accepted, in order
    :param limited: False leaves the rate limit out, so that the oracle can judge that nothing is idle
    """

    def __init__(
        self,
        sink: FakeSink,
        config: AsyncSinkWriterConfig | None = None,
        *,
        context: InitContext | None = None,
        states: Sequence[BufferedRequestState[Any]] = (),
        limited: bool = True,
    ) -> None:
        self.history = sink.destination.history
        self.number = 0
        self._limited = limited
        self._config = config or sink.config
        recorded = RecordedRateLimit.of(self._config, self.history, lambda: self.number, limited)
        recorded = RecordedDeadLetters.of(recorded, self.history, lambda: self.number)
        self._states = states
        self.writer: AsyncSinkWriter[Any, Any] = AsyncSinkWriter(sink, context or WriterInitContext(), recorded, states)
        self._flushes = 0
        self.accepted: list[Any] = []
        self._closing = False

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self.number = self.history.writers + 1
        restored = tuple(entry for state in self._states for entry in state.entries)
        self.history.add(Opened(self.history.clock(), self.number, self._config, restored, self._limited))
        await self.writer.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.closing()
        left = False
        try:
            await self._watched(lambda: self.writer.__aexit__(kind, error, trace))
            left = error is None and not self._closing
        finally:
            self._note_unseen_failure()
            self.snapshot()
            self.history.add(Gone(self.history.clock(), self.number, left))

    def _note_failure(self, error: Exception) -> None:
        self.history.add(Failed(self.history.clock(), self.number, type(error).__name__))

    def _note_unseen_failure(self) -> None:
        """A writer that is left with an exception keeps a failure of its own to itself; any call tells of it."""
        try:
            self.writer.write_nowait(None)
        except (DeliveryError, WriterFailedError) as error:
            self._note_failure(error)
        except WriterClosedError:
            return

    def closing(self) -> None:
        """Say that the writer is about to be closed or killed: its requests may be cut from now on."""
        self._closing = True
        self.history.add(Closing(self.history.clock(), self.number))

    async def aclose(self) -> None:
        self.closing()
        await self._watched(self.writer.aclose)

    # ---- writing ---------------------------------------------------------------------------------------------

    async def write(self, entry: Any, context: WriteContext | None = None) -> None:
        await self._writing((entry,), lambda: self.writer.write(entry, context))

    async def write_many(self, entries: Sequence[Any], context: WriteContext | None = None) -> None:
        await self._writing(tuple(entries), lambda: self.writer.write_many(entries, context))

    async def write_block(self, block: EntryBlock[Any]) -> None:
        entries = tuple(block[index] for index in range(len(block)))
        await self._writing(entries, lambda: self.writer.write_block(block))

    async def write_batch(self, batch: Any) -> None:
        """A batch is anything with ``to_pylist`` and what the converter's ``apply_batch`` asks for."""
        await self._writing(tuple(batch.to_pylist()), lambda: self.writer.write_batch(batch))

    def write_nowait(self, entry: Any) -> None:
        self._offer((entry,))
        accepted = 0
        try:
            self.writer.write_nowait(entry)
            accepted = 1
        except (DeliveryError, WriterFailedError) as error:
            self._note_failure(error)
            raise
        finally:
            self._accept((entry,), accepted)

    async def wait_available(self) -> None:
        await self._watched(self.writer.wait_available)

    async def _writing(self, entries: tuple[Any, ...], call: Callable[[], Awaitable[None]]) -> None:
        self._offer(entries)
        try:
            await self._watched(call)
        except BaseException:
            # Asked only now: a look at the statistics closes the open tail, which would so never hold two entries.
            self._accept(entries, self.writer.statistics().accepted - len(self.accepted))
            raise
        self._accept(entries, len(entries))

    def _offer(self, entries: tuple[Any, ...]) -> None:
        self.history.add(Offered(self.history.clock(), self.number, entries))

    def _accept(self, entries: tuple[Any, ...], count: int) -> None:
        self.accepted += entries[:count]
        self.history.add(Accepted(self.history.clock(), self.number, entries[:count], entries[count:]))
        self.history.expected.update(dict.fromkeys(entries[:count]))

    async def _watched(self, call: Callable[[], Awaitable[None]]) -> None:
        try:
            await call()
        except (DeliveryError, WriterFailedError) as error:
            self._note_failure(error)
            raise

    # ---- flush and state -------------------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        self._flushes += 1
        number, done = self.number * 1_000_000 + self._flushes, False
        self.history.add(FlushCalled(self.history.clock(), self.number, number, end_of_input))
        try:
            await self._watched(lambda: self.writer.flush(end_of_input))
            done = True
        finally:
            self.history.add(FlushReturned(self.history.clock(), self.number, number, done))

    def snapshot(self) -> list[BufferedRequestState[Any]]:
        """``snapshot_state`` and the statistics of the same moment."""
        states = self.writer.snapshot_state()
        (state,) = states
        now_s = self.history.clock()
        self.history.add(SnapshotTaken(now_s, self.number, state.entries, state.sizes, self.writer.statistics()))
        return states

    def statistics(self) -> WriterStatistics:
        return self.writer.statistics()

    async def quiet(self) -> None:
        """Wait until no task has anything to do at this instant, and say so."""
        await anyio.wait_all_tasks_blocked()
        self.history.add(Quiet(self.history.clock(), self.number))
