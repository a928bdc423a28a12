"""What one writer holds, where it is, and whether the writer has failed."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from asyncsink.accounting import Accounting
from asyncsink.errors import WriterClosedError, WriterFailedError


class Books:
    """Counts of one writer, and the bell that rings when they change. Belongs to one event loop.

    A row is waiting, then in flight, perhaps waiting again, until it is acknowledged or given up. One whose dead letter
    is not durable yet is condemned.

    :ivar waiting: rows that no request carries
    :ivar in_flight: rows that aiokafka has in hand
    :ivar condemned: rows whose dead letters are being written
    :ivar size_in_bytes: of all rows that wait or are in flight, as they lie in memory
    :ivar progress_s: when the last row was acknowledged or given up, or the first came in after a rest
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.accounting = Accounting()
        self.waiting = self.in_flight = self.condemned = 0
        self.size_in_bytes = 0
        self.clock = clock
        self.progress_s = clock()
        self.failure: BaseException | None = None
        self.is_closed = False
        self._seen = False
        self._batches: dict[int, int] = {}
        self._last_batch = 0
        self._changed = anyio.Event()
        self._scopes: set[anyio.CancelScope] = set()

    @property
    def held(self) -> int:
        """Rows that are neither acknowledged nor given up."""
        return self.waiting + self.in_flight + self.condemned

    # ---- rows ------------------------------------------------------------------------------------------------

    def accept(self, rows: int, size_in_bytes: int) -> None:
        """Take rows in."""
        if not self.held:
            self.progress_s = self.clock()
        self.accounting.accepted += rows
        self.waiting += rows
        self.size_in_bytes += size_in_bytes

    def acknowledge(self, rows: int, size_in_bytes: int) -> None:
        """The brokers have stored rows that were in flight."""
        self.in_flight -= rows
        self.accounting.acknowledged += rows
        self.size_in_bytes -= size_in_bytes
        self.progress_s = self.clock()

    def forget(self, rows: int, size_in_bytes: int) -> None:
        """Rows that waited were withdrawn: they are another's to deliver, as if they had never been accepted."""
        self.waiting -= rows
        self.accounting.accepted -= rows
        self.size_in_bytes -= size_in_bytes

    # ---- batches ---------------------------------------------------------------------------------------------

    def new_batch(self) -> int:
        """The number of one more batch that is under way."""
        self._last_batch += 1
        self._batches[self._last_batch] = 1
        return self._last_batch

    def split_batch(self, number: int, parts: int) -> None:
        """A batch goes on as so many."""
        self._batches[number] += parts - 1

    def end_batch(self, number: int) -> None:
        """A batch, or a part of one, is settled."""
        self._batches[number] -= 1
        if not self._batches[number]:
            del self._batches[number]

    @property
    def last_batch(self) -> int:
        return self._last_batch

    def are_settled(self, until: int) -> bool:
        """Whether all batches up to this number are settled: a dictionary keeps the order of its insertions."""
        return next(iter(self._batches), until + 1) > until

    # ---- telling ---------------------------------------------------------------------------------------------

    def notify(self) -> None:
        """Let everybody who waits look again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def changed(self) -> None:
        """Return when something has changed."""
        await self._changed.wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when `holds` does.

        :raises DeliveryError: the writer has failed meanwhile
        :raises WriterClosedError: it was closed meanwhile
        """
        self.check()
        while not holds():
            await self._changed.wait()
            self.check()

    def scope(self) -> anyio.CancelScope:
        """A scope that is cancelled when the writer fails or is closed; to be given back to :meth:`leave`."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        if self.is_over:
            scope.cancel()
        return scope

    def leave(self, scope: anyio.CancelScope) -> None:
        self._scopes.discard(scope)

    # ---- the end ---------------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether nothing is sent any more."""
        return self.is_closed or self.failure is not None

    def fail(self, error: BaseException) -> None:
        """The writer has failed; the first error counts."""
        if self.failure is None and not self.is_closed:
            self.failure = error
            self._cut()

    def close(self) -> None:
        self.is_closed = True
        self._cut()

    def _cut(self) -> None:
        for scope in self._scopes:
            scope.cancel()
        self.notify()

    def check(self) -> None:
        """Raise if the writer has failed, at first with the error itself, or is closed."""
        if self.failure is not None:
            self.raise_unseen()
            raise WriterFailedError(f"the writer has failed before: {self.failure}") from self.failure
        if self.is_closed:
            raise WriterClosedError("the writer is closed; make a new one")

    def excuse(self) -> None:
        """Nobody need be told of the failure any more: another delivers the rows."""
        self._seen = True

    def raise_unseen(self) -> None:
        """Raise the error with which the writer has failed, unless a call has done so."""
        if self.failure is not None and not self._seen:
            self._seen = True
            raise self.failure
