"""What becomes of rows that can never be delivered: ``on_rejected`` decides."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, idempotency_prefix
from asyncsink.dead_letters import DeadLetter, DeadLetterMaker, DeadLetterQueue, DeadLetterReason
from asyncsink.errors import (
    ConversionError,
    DeadLetterError,
    FatalRequestError,
    OversizedEntryError,
    RejectedEntryError,
    RequestError,
    RequestRejectedError,
)
from asyncsink.writer.dropped import DroppedCodes
from asyncsink_kafka.client.errors import ERRORS
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.writer.books import Books

if TYPE_CHECKING:
    from asyncsink.configured_sink import ConfiguredSink

logger = logging.getLogger(__name__)

MAX_PENDING = 1000
"""Letters that may wait to be written before whoever writes rows waits too."""

TOO_LARGE = "MESSAGE_TOO_LARGE"


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that was written and can never be sent.

    :param sequence: its position among the rows of the writer
    :param code: Kafka's name of the reason, or ``ConversionError``
    :param record: what it became, where it could be converted
    :param element: what was written, where it could not
    """

    sequence: int
    code: str
    message: str
    record: KafkaRecord | None = None
    element: Any = None
    cause: BaseException | None = None

    def error(self) -> RejectedEntryError:
        """What to raise for it, where the user wants that."""
        if self.record is None:
            error: RejectedEntryError = ConversionError(self.message)
        elif self.code == TOO_LARGE:
            error = OversizedEntryError(self.message)
        else:
            error = RejectedEntryError(f"{self.code}: {self.message}")
        error.__cause__ = self.cause
        return error


class Rejections:
    """Gives up rows: the task fails, or they become dead letters, or they are counted and dropped."""

    def __init__(
        self,
        sink: ConfiguredSink[Any, Any, Any, Any],
        config: AsyncSinkWriterConfig,
        context: InitContext,
        books: Books,
    ) -> None:
        self._config, self._context, self._books = config, context, books
        self._maker = DeadLetterMaker(sink, context, idempotency_prefix(context))
        self._queue: DeadLetterQueue | None = None
        self._dropped = DroppedCodes(logger, "a row")
        self.on_given_up: Callable[[int], None] = lambda sequence: None
        """Told of the sequence of each row that is given up."""

    @property
    def fails(self) -> bool:
        """Whether a row that can never be delivered makes the writer fail."""
        return self._config.on_rejected == "fail"

    @property
    def pending(self) -> int:
        return 0 if self._queue is None else self._queue.pending

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open the store of dead letters, if there are to be any.

        :raises DeadLetterError: it cannot be written to
        """
        store = self._config.dead_letters
        if self._config.on_rejected != "dead_letter" or store is None:
            yield
            return
        async with store.open(self._context) as writer:
            self._queue = DeadLetterQueue(writer, on_written=self._written, on_failed=self._books.fail)
            yield

    def start(self, group: TaskGroup) -> None:
        """Write dead letters from now on, in the background."""
        if self._queue is not None:
            group.start_soon(self._queue.run)

    async def refuse(self, refused: Sequence[Refused]) -> None:
        """Accept rows that will never be sent, and give them up; none where the user wants an error.

        :raises RejectedEntryError: of the first; none of them is accepted
        """
        if self.fails and refused:
            raise refused[0].error()
        if refused and self.pending > MAX_PENDING:
            await self.flush()
        for each in refused:
            self._books.accounting.accepted += 1
            self._give_up(each, attempts=0)

    def reject(self, refused: Refused, attempts: int) -> None:
        """Give up a row that was accepted, and whose counts as waiting or in flight are gone already."""
        if self.fails:
            # It stays unacknowledged: the task is repeated.
            self._books.waiting += 1
            told = f"Kafka does not take a record: {refused.code}: {refused.message}"
            self._books.fail(RequestRejectedError(told))
        else:
            self._give_up(refused, attempts)
        self._books.progress_s = self._books.clock()

    def _give_up(self, refused: Refused, attempts: int) -> None:
        self.on_given_up(refused.sequence)
        if self._queue is None:
            self._dropped.say(refused.code, refused.message)
            self._books.accounting.dropped += 1
            return
        self._books.condemned += 1
        try:
            self._queue.put([self._letter(refused, attempts)])
        except DeadLetterError as error:
            self._books.fail(error)

    def _letter(self, refused: Refused, attempts: int) -> DeadLetter:
        if refused.record is None:
            return self._maker.of_element(refused.element, refused.code, refused.message, sequence=refused.sequence)
        reason = DeadLetterReason.OVERSIZED if refused.code == TOO_LARGE else DeadLetterReason.REJECTED
        return self._maker.of_entry(
            refused.record,
            reason,
            refused.code,
            refused.message,
            sequence=refused.sequence,
            attempts=attempts,
            route=refused.record.topic,
        )

    def _written(self, count: int) -> None:
        books = self._books
        books.condemned -= count
        books.accounting.dead_lettered += count
        books.progress_s = books.clock()
        books.notify()

    async def settle(self) -> None:
        """Return when every dead letter is durable, also of a writer that is closed.

        :raises DeadLetterError: one could not be written
        """
        if self._queue is not None:
            await self._queue.flush()

    async def flush(self) -> None:
        """Return when every dead letter is durable.

        :raises DeliveryError: one could not be written, or the writer has failed meanwhile
        """
        if self._queue is None:
            return
        scope = self._books.scope()
        try:
            with scope:
                await self._queue.flush()
        except DeadLetterError as error:
            # By now the writer has failed with it: it says so once, whoever was the first to meet it.
            self._books.fail(error)
        finally:
            self._books.leave(scope)
        self._books.check()


def fatal(where: str, refusal: RequestError) -> FatalRequestError:
    """What the writer fails with where no retry can mend a refusal: it says where, why, and what to do."""
    told = f"{where}: {refusal}".rstrip(".")
    error = FatalRequestError(f"{told}. {ERRORS.remedy(refusal.code)}".rstrip())
    error.__cause__ = refusal
    return error
