"""The rows of one cluster: those that wait, those that its writer has, and those that have come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from asyncsink.writer import WriterStatistics
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster
from asyncsink_dynamic_kafka.writer.origins import Origins
from asyncsink_dynamic_kafka.writer.routed import Routed
from asyncsink_dynamic_kafka.writer.waiting import Waiting
from asyncsink_kafka.records import Records
from asyncsink_kafka.writer.books import Books

if TYPE_CHECKING:
    from asyncsink_kafka.writer import KafkaWriter

_NOTHING: Final = WriterStatistics()


class ClusterRows:
    """Takes rows at once, and hands them to a :class:`KafkaWriter` as that has room for them.

    :param books: those of the whole writer
    :param made_at: the number of the metadata with which it begins
    :ivar returned: rows that were withdrawn, for other clusters to take
    """

    def __init__(self, cluster: Cluster, books: Books, made_at: int) -> None:
        self.cluster = cluster
        self.origins = Origins()
        self.returned: list[Routed] = []
        self._books, self._routed_at = books, made_at
        self._pending = Waiting()
        self._bounds = (1, 1)
        self._writer: KafkaWriter | None = None
        self._handing = anyio.CancelScope()

    @property
    def statistics(self) -> WriterStatistics:
        """Of the writer below; its rows are copies of elements."""
        return _NOTHING if self._writer is None else self._writer.statistics()

    @property
    def sent(self) -> tuple[int, int]:
        """Rows, and bytes, that the writer below has sent, those that it sent again included."""
        return (0, 0) if self._writer is None else self._writer.sent

    @property
    def pending_rows(self) -> int:
        """Rows that are in no writer yet."""
        return self._pending.rows

    @property
    def held(self) -> int:
        """Rows that are neither stored nor given up."""
        return self._pending.rows + self.statistics.unacknowledged + sum(map(len, self.returned))

    @property
    def size_in_bytes(self) -> int:
        """Of the rows that are held."""
        returned = sum(each.nbytes for each in self.returned)
        return self._pending.size_in_bytes + self.statistics.size_in_bytes + returned

    def put(self, routed: Routed) -> None:
        """Take rows, whatever room there is; who writes them waits for :attr:`has_room`."""
        self._routed_at = min(self._routed_at, routed.routed_at)
        self._pending.put(routed)
        self._books.notify()

    @property
    def has_room(self) -> bool:
        """Whether no more rows wait for the writer below than may: a quarter of what it may hold."""
        most, most_bytes = self._bounds
        pending = self._pending
        return not pending or (pending.rows <= most // 4 and pending.size_in_bytes <= most_bytes // 4)

    def take_pending(self, goes: Callable[[Routed], bool]) -> list[Routed]:
        """Rows that are in no writer yet and that are to go elsewhere; they are not held here any more."""
        return self._pending.take(goes)

    def bound(self, rows: int, size_in_bytes: int) -> None:
        """Its share of what the whole writer may hold."""
        self._bounds = rows, size_in_bytes
        if self._writer is not None:
            self._writer.bound(max_buffered_requests=rows, max_buffered_size_in_bytes=size_in_bytes)

    async def _hand_over(self, writer: KafkaWriter) -> None:
        before = writer.statistics().accepted
        try:
            with anyio.CancelScope() as self._handing:
                if self.origins.is_full:
                    await writer.flush()
                    self.origins.forget()
                handed = self._pending.hand()
                for each in handed:
                    self.origins.note(each)
                await writer.write_records(Records.concat([each.records() for each in handed]))
        finally:
            self._pending.took(writer.statistics().accepted - before)
            self._books.notify()

    async def _withdraw(self, writer: KafkaWriter) -> None:
        records = await writer.withdraw()
        if records is not None:
            self.returned.append(self.origins.routed(self.cluster.identifier, records, self._routed_at))

    def return_pending(self) -> None:
        """Rows that are in no writer yet are for others to take."""
        self.returned += self._pending.drain()
        self._books.notify()
