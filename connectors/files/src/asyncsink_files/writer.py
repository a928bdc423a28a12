"""FilesWriter: what a program, or a task of Spark, writes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, final

import anyio
import anyio.to_thread

from asyncsink.accounting import Accounting
from asyncsink.blocks import EntryBlock
from asyncsink.config import MiB
from asyncsink.context import InitContext, WriteContext
from asyncsink.errors import ConversionError, DeliveryError, WriterClosedError, WriterFailedError
from asyncsink.sink import SinkWriter
from asyncsink.writer.statistics import WriterStatistics
from asyncsink_files.committable import OpenFile, PendingFile
from asyncsink_files.converter import FilesConverter
from asyncsink_files.failures import told
from asyncsink_files.formats import Piece, format_of
from asyncsink_files.naming import Origin
from asyncsink_files.parts import Parts

if TYPE_CHECKING:
    from asyncsink_files.sink import FilesSink

T = TypeVar("T")

_GATHERED: Final = 1 * MiB
"""Bytes of single rows that are written together."""


@final
class FilesWriter(SinkWriter[Any, PendingFile, OpenFile]):
    """Writes rows to files that are shown by a commit; where nothing will be committed, by each flush.

    Rows come as mappings or as Arrow batches. A call that raises for what a row holds has not accepted it, and the
    writer goes on; whatever the file system refuses ends the writer, since a file may hold a part of a row then. What
    it leaves behind is swept before the next attempt.

    :param states: of files that earlier writers have left open
    """

    def __init__(self, sink: FilesSink, context: InitContext, states: Sequence[OpenFile] = ()) -> None:
        options = sink.options
        self._init, self._states = context, states
        self._converter = sink.converter(context.schema)
        self._format = format_of(options)
        self._location, self._commits = options.path, context.transaction is not None
        self._parts = Parts(sink.storage(), options, self._format, Origin.of(context))
        self._most = min(_GATHERED, options.max_file_size)
        self._entries: list[Any] = []
        self._gathered = 0
        self._next = 0
        self._accounting = Accounting()
        self._failure: BaseException | None = None
        self._entered = self._closed = False
        self._lock: anyio.Lock

    # ---- life ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Take over what earlier writers have left open.

        :raises LedgerError: it is not there any more
        """
        if self._entered:
            raise WriterClosedError("a writer can be entered once; make a new one")
        self._entered, self._lock = True, anyio.Lock()
        self._converter.open(self._init)
        if self._states:
            self._accounting.restored = sum(state.rows for state in self._states)
            await self._do(self._parts.take_over, self._states)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and not self._closed:
                await self.flush(end_of_input=True)
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Close what is open. What is in no committable and in no state is lost, as is the attempt."""
        if not self._entered or self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._parts.close)
            if not self._commits:
                with told("remove what was not shown", self._location, DeliveryError):
                    await anyio.to_thread.run_sync(self._parts.discard)

    # ---- writing ---------------------------------------------------------------------------------------------

    async def write(self, element: Any, context: WriteContext | None = None) -> None:
        """Accept one row.

        :raises ConversionError: it cannot be written
        """
        await self.write_many([element], context)

    async def write_many(self, elements: Sequence[Any], context: WriteContext | None = None) -> None:
        """Accept rows in order. Where it raises, what came before the row at fault has been accepted."""
        self._check()
        first = self._first(len(elements), context)
        for place, element in enumerate(elements):
            entry = self._entry(element, first + place)
            if self._gathered >= self._most:
                await self._write_gathered()
            self._entries.append(entry)
            self._gathered += self._format.size_of(entry)
            self._accounting.accepted += 1

    async def write_block(self, block: EntryBlock[Any], context: WriteContext | None = None) -> None:
        """Accept a block of rows as mappings that are converted already."""
        self._check()
        first = self._first(len(block), context)
        await self._accept(self._pieces_of_rows([block[at] for at in range(len(block))], first), len(block))

    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        """Accept the rows of a ``pyarrow.RecordBatch``, as columns all the way to the file; all of them or none.

        :raises ConversionError: one cannot be written
        """
        self._check()
        first = self._first(batch.num_rows, context)
        pieces = await anyio.to_thread.run_sync(self._pieces_of_batch, batch, first)
        await self._accept(pieces, batch.num_rows)

    def _first(self, count: int, context: WriteContext | None) -> int:
        """The sequence of the first of `count` rows: the caller's, or the next that no row has had."""
        first = self._next if context is None else context.sequence
        self._next = max(self._next, first + count)
        return first

    def _entry(self, element: Any, sequence: int) -> Any:
        try:
            return self._entry_of_row(self._converter.apply(element, WriteContext(sequence=sequence)))
        except Exception as error:
            raise self._not_converted(f"element {sequence}", error) from error

    def _entry_of_row(self, row: Any) -> Any:
        if not isinstance(row, Mapping):
            raise TypeError(f"a {type(row).__name__} is no row, which a converter for files has to make: a mapping")
        return self._format.entry(row)

    def _pieces_of_rows(self, rows: Sequence[Any], first: int) -> list[Piece]:
        try:
            return self._format.of_entries([self._entry_of_row(row) for row in rows])
        except Exception as error:
            raise self._not_converted(f"elements {first} to {first + len(rows) - 1}", error) from error

    def _pieces_of_batch(self, batch: Any, first: int) -> list[Piece]:
        apply_batch = getattr(self._converter, "apply_batch", None)
        try:
            if apply_batch is not None:
                block = apply_batch(batch, WriteContext(sequence=first))
                return self._format.of_entries([self._entry_of_row(block[at]) for at in range(len(block))])
            if isinstance(self._converter, FilesConverter):
                return self._format.of_batch(batch)
            rows = self._converter.apply_many(batch.to_pylist(), WriteContext(sequence=first))
            return self._format.of_entries([self._entry_of_row(row) for row in rows])
        except Exception as error:
            raise self._not_converted(f"elements {first} to {first + batch.num_rows - 1}", error) from error

    def _not_converted(self, what: str, error: Exception) -> ConversionError:
        name = type(self._converter).__name__
        return ConversionError(f"{name} could not convert {what}: {type(error).__name__}: {error}")

    async def _accept(self, pieces: list[Piece], rows: int) -> None:
        """Write pieces after what was accepted before them."""
        await self._write_gathered()
        await self._do(self._parts.write, pieces)
        self._accounting.accepted += rows

    async def _write_gathered(self) -> None:
        if self._entries:
            await self._do(self._write_entries)

    def _write_entries(self) -> None:
        try:
            pieces = self._format.of_entries(self._entries)
        except Exception as error:
            raise self._not_converted(f"{len(self._entries)} rows to columns", error) from error
        self._entries, self._gathered = [], 0
        self._parts.write(pieces)

    # ---- flush and commit ------------------------------------------------------------------------------------

    async def flush(self, end_of_input: bool = False) -> None:
        """Write what was accepted to its file; where nothing will be committed, finish that and show it, durably.

        :raises DeliveryError: the file system refuses it
        """
        self._check()
        await self._write_gathered()
        if not self._commits:
            self._accounting.acknowledged += await self._do(self._parts.show)
        self._accounting.check(len(self._entries) + self._parts.rows)

    async def prepare_commit(self, flush: bool) -> list[PendingFile]:
        """The files to be committed, durable. Without `flush` an open file of JSON Lines stays open, in the state."""
        await self.flush()
        if not self._commits:
            return []
        prepared = await self._do(self._parts.prepare, flush)
        self._accounting.acknowledged += sum(each.rows for each in prepared)
        return prepared

    def snapshot_state(self, checkpoint_id: int | None = None) -> list[OpenFile]:
        """The file that was left open when the last commit was prepared, if there is one."""
        return self._parts.states

    def statistics(self) -> WriterStatistics:
        """What the writer has done; a row is acknowledged when its file is prepared to be committed, or shown."""
        counts = self._accounting
        return WriterStatistics(
            accepted=counts.accepted,
            restored=counts.restored,
            acknowledged=counts.acknowledged,
            buffered_entries=counts.unacknowledged,
            size_in_bytes=self._gathered,
            requests=self._parts.count,
        )

    # ---- one thread at a time --------------------------------------------------------------------------------

    def _check(self) -> None:
        if not self._entered:
            raise WriterClosedError("the writer has not been entered yet; use `async with` it")
        if self._closed:
            raise WriterClosedError("the writer is closed; make a new one")
        if self._failure is not None:
            raise WriterFailedError("the writer has failed before; make a new one") from self._failure

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do what blocks in a thread, to its end: a file that is written to cannot be left in the midst."""
        async with self._lock:
            self._check()
            try:
                with anyio.CancelScope(shield=True), told("write files", self._location, DeliveryError):
                    done = await anyio.to_thread.run_sync(work, *arguments)
            except BaseException as error:
                self._failure = error
                raise
        return done
