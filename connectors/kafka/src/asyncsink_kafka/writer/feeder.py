"""From rows to record batches: they pile up while the brokers are busy, and are routed and encoded many at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Final

import anyio
import numpy as np
from numpy.typing import NDArray

from asyncsink.errors import RequestError
from asyncsink_kafka.encoding import Codec, ReadyBatch, encode
from asyncsink_kafka.partitioning import Partitioner, Routed, highest_partitions, route, topics_of
from asyncsink_kafka.records import Records
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.gate import Gate
from asyncsink_kafka.writer.lanes import Lanes
from asyncsink_kafka.writer.pile import AT_ONCE, Pile
from asyncsink_kafka.writer.rejections import Refused, Rejections
from asyncsink_kafka.writer.topics import Topics

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient

PATIENCE_S: Final = 1.0
"""For how long rows gather while batches wait for their partitions; one that takes longer counts as stuck."""

STUCK_LINGER_S: Final = 0.2
"""For how long they gather where all these partitions are stuck."""

SMALLEST_PORTION: Final = 256 * 1024
"""Bytes of rows below which encoding costs more by the call than by the row."""

FILLED: Final = 0.9
"""Share of a full batch for each partition that makes a portion: keys do not fall evenly, and what is over one batch
makes another, which is small."""

SMALLEST_BATCH: Final = 16 * 1024
"""Bytes below which the limit is not lowered although a broker refuses batches as too large."""


class Feeder:
    """The task that feeds rows from the pile to the lanes.

    It feeds as soon as no batch waits for its partition, so that batches grow exactly as far as the brokers are slow;
    and whatever they do once a full portion lies there.

    :param linger_s: for how long the first row of a pile waits for others where the brokers have nothing to do
    :param batch_bytes: the most bytes of a record batch of several records
    """

    def __init__(
        self,
        books: Books,
        gate: Gate,
        rejections: Rejections,
        partitioner: Partitioner,
        codec: Codec,
        *,
        topic: str | None,
        topics: Topics,
        linger_s: float,
        batch_bytes: int,
        transactional: bool,
    ) -> None:
        self._books, self._gate, self._rejections = books, gate, rejections
        self._partitioner, self._codec, self._topic = partitioner, codec, topic
        self._topics, self._linger_s, self._batch_bytes = topics, linger_s, batch_bytes
        self._transactional = transactional
        self.pile = Pile(books)
        self._flushes = 0
        self._portion: Records | None = None
        """What was taken from the pile and has not come to the lanes."""
        self._is_running = False
        self._client: KafkaClient
        self._lanes: Lanes

    def start(self, client: KafkaClient, lanes: Lanes) -> None:
        self._client, self._lanes = client, lanes

    @property
    def is_empty(self) -> bool:
        """Whether all rows have come to the lanes."""
        return self.pile.is_empty and self._portion is None

    @property
    def is_running(self) -> bool:
        """Whether its task has begun and not ended."""
        return self._is_running

    def hurry(self, flushes: int) -> None:
        """Feed at once while somebody flushes; 1 at the begin of a flush, -1 at its end."""
        self._flushes += flushes
        self._books.notify()

    def lower_batch_bytes(self, refused: int) -> None:
        """A broker takes no batches of so many bytes; smaller ones from now on."""
        self._batch_bytes = min(self._batch_bytes, max(refused // 2, SMALLEST_BATCH))

    async def run(self) -> None:
        """Feed until the task is cancelled, the writer is closed, or something fails."""
        scope = self._books.scope()
        self._is_running = True
        try:
            with scope:
                while not self._books.is_over:
                    await self._due()
                    self._portion = self.pile.take()
                    await self._feed(self._portion)
                    self._portion = None
                    self._books.notify()
        except Exception as error:
            self._books.fail(error)
        finally:
            self._is_running = False
            self._books.leave(scope)
            if self._books.is_over:
                self._books.notify()

    def drain(self) -> list[Records]:
        """All rows that have not come to the lanes; the task must have ended."""
        portion, self._portion = self._portion, None
        if portion is None:
            return self.pile.drain()
        self._books.forget(len(portion), portion.nbytes)
        return [portion, *self.pile.drain()]

    async def _due(self) -> None:
        while not self._is_due():
            with anyio.move_on_after(self._lingers_s()):
                await self._books.changed()

    def _is_due(self) -> bool:
        if self.pile.is_empty:
            return False
        return bool(self._flushes) or self.pile.is_full or self._lingers_s() <= 0

    def _lingers_s(self) -> float:
        """Seconds until the pile is due by its age; infinite where it does not wait for that."""
        if self.pile.is_empty:
            return inf
        linger_s = self._linger_s
        if self._lanes.are_crowded:
            # One that is stuck must not hold up the others; yet not every row for it should be a batch of its own.
            linger_s = max(linger_s, PATIENCE_S if self._lanes.are_moving(PATIENCE_S) else STUCK_LINGER_S)
        return self.pile.first_s + linger_s - self._books.clock()

    # ---- a portion -------------------------------------------------------------------------------------------

    async def _feed(self, records: Records) -> None:
        size_in_bytes = records.nbytes
        topics, highest = topics_of(records, self._topic), highest_partitions(records, self._topic)
        known, unknown = await self._topics.partitions(self._client, topics, highest)
        self._books.progress_s = self._books.clock()  # to learn of topics may take its time, and has an end of its own
        routed = route(records, self._topic, known, self._partitioner)
        batches = self._encoded(records, routed.slots, len(routed.targets), self._gate.batch_limit)
        self._books.size_in_bytes += sum(each.size_in_bytes for each in batches) - size_in_bytes
        for batch in batches:
            self._lanes.put(*routed.targets[batch.slot], batch)
        filled = int(FILLED * self._batch_bytes * len(self._lanes))
        self.pile.portion = min(AT_ONCE, max(filled, SMALLEST_PORTION))
        self._reject(records, routed, unknown)

    def resplit(self, records: Records, most: int) -> list[ReadyBatch]:
        """The records of one batch anew, as batches of at most so many."""
        return self._encoded(records, np.zeros(len(records), dtype=np.int32), 1, most)

    def _encoded(self, records: Records, slots: NDArray[np.int32], slot_count: int, most: int) -> list[ReadyBatch]:
        return encode(
            records,
            slots,
            slot_count,
            now_ms=time.time_ns() // 1_000_000,
            max_batch_bytes=self._batch_bytes,
            max_batch_count=most,
            codec=self._codec,
            transactional=self._transactional,
        )

    def _reject(self, records: Records, routed: Routed, unknown: Mapping[str, RequestError]) -> None:
        """Give up the rows that have no partition."""
        for index, code, message in routed.refused:
            record = records.record(index)
            why = unknown.get(record.topic or self._topic or "")
            self._books.waiting -= 1
            self._rejections.reject(
                Refused(
                    int(records.sequence[index]),
                    code if why is None else why.code,
                    message if why is None else why.message,
                    record,
                    cause=why,
                ),
                attempts=0,
            )
