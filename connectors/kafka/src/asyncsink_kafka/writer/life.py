"""What the writers of Kafka's sinks share: how they are left, and given up."""

from __future__ import annotations

import logging
import warnings
from abc import abstractmethod
from types import TracebackType
from typing import Any, Protocol

from asyncsink.errors import WriterClosedError
from asyncsink.sink import CommT, SinkWriter, WriterStateT
from asyncsink.writer import WriterStatistics
from asyncsink_kafka.writer.books import Books

logger = logging.getLogger(__name__)


class _Delivery(Protocol):
    """What stands below a writer: its tasks and its clients."""

    async def leave(self, error: BaseException | None) -> None: ...


class BookedWriter(SinkWriter[Any, CommT, WriterStateT]):
    """A writer with books and a delivery below it, which it has from when it is entered."""

    _books: Books
    _delivery: _Delivery

    def __init__(self) -> None:
        self._statistics = WriterStatistics()
        self._entered = False

    def _enter(self) -> None:
        """:raises WriterClosedError: it has been entered before"""
        if self._entered:
            raise WriterClosedError("a writer can be entered once; make a new one")
        self._entered = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        books = self._books
        try:
            if error is None:
                if not books.is_over:
                    await self._finish()
            elif books.failure is not None:
                logger.error("the writer had failed as well: %s", books.failure)
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._close()
            await self._delivery.leave(error or books.failure)
        if error is None:
            books.raise_unseen()

    async def _finish(self) -> None:
        """Deliver what was accepted, as nothing more comes."""
        await self.flush(end_of_input=True)

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

    @abstractmethod
    def _close(self) -> None:
        """Close the books, and keep the last counts; nothing if they are closed."""

    def _check(self) -> None:
        if not self._entered:
            raise WriterClosedError("the writer has not been entered yet; use `async with` it")
        self._books.check()
