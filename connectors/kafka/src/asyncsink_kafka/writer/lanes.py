"""Record batches on their way to their partitions: one at a time to each, so that a partition keeps its order."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from asyncsink.errors import RequestError
from asyncsink.failures import FailureKind
from asyncsink_kafka.client.errors import ERRORS
from asyncsink_kafka.encoding import ReadyBatch
from asyncsink_kafka.records import Records
from asyncsink_kafka.writer.books import Books
from asyncsink_kafka.writer.gate import Gate
from asyncsink_kafka.writer.rejections import Refused, Rejections, fatal

if TYPE_CHECKING:
    from asyncsink_kafka.client import KafkaClient

logger = logging.getLogger(__name__)

TOO_LARGE = frozenset({"MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
"""Refusals that speak of a batch rather than of its records: smaller batches may well be taken."""

OF_THE_TOPIC = frozenset({"INVALID_TOPIC_EXCEPTION", "UNKNOWN_TOPIC_OR_PARTITION"})
"""Refusals that speak of the destination: the same for every record that waits for it."""

Resplit = Callable[[Records, int], list[ReadyBatch]]
"""Encodes records anew as batches of at most so many records."""


@dataclass(slots=True, eq=False)
class Piece:
    """A batch that is under way, or what is left of one.

    :param number: of the batch as it was fed; the parts of one have the same
    :param tries: how often it was handed to the client
    """

    number: int
    batch: ReadyBatch
    tries: int = 0


class Lane:
    """One partition: what waits for it, and since when its present batch has been tried."""

    __slots__ = ("busy", "partition", "queue", "since_s", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic, self.partition = topic, partition
        self.queue: deque[Piece] = deque()
        self.busy = False
        self.since_s = inf


class Lanes:
    """All partitions that are written to.

    :param too_large: told of the size of a batch, in bytes, that a broker has refused as too large
    """

    def __init__(
        self,
        books: Books,
        gate: Gate,
        rejections: Rejections,
        resplit: Resplit,
        too_large: Callable[[int], None],
    ) -> None:
        self._books, self._gate, self._rejections = books, gate, rejections
        self._resplit, self._too_large = resplit, too_large
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._crowded: set[Lane] = set()
        """Partitions for which batches wait."""
        self.retried_records = 0
        self._client: KafkaClient
        self._group: TaskGroup

    def __len__(self) -> int:
        """How many partitions have been written to."""
        return len(self._lanes)

    def start(self, client: KafkaClient, group: TaskGroup) -> None:
        """Send by this client from now on."""
        self._client, self._group = client, group

    def put(self, topic: str, partition: int, batch: ReadyBatch) -> None:
        """Send a batch, after all that has been put for its partition."""
        lane = self._lanes.get((topic, partition))
        if lane is None:
            lane = self._lanes[topic, partition] = Lane(topic, partition)
        lane.queue.append(Piece(self._books.new_batch(), batch))
        self._queue_changed(lane)
        if not lane.busy:
            lane.busy = True
            self._group.start_soon(self._work, lane)

    def waiting_longest(self) -> Lane | None:
        """The partition whose present batch has been tried for the longest time."""
        lane = min(self._lanes.values(), key=lambda each: each.since_s, default=None)
        return None if lane is None or lane.since_s == inf else lane

    @property
    def are_crowded(self) -> bool:
        """Whether a batch waits for one of its own partition."""
        return bool(self._crowded)

    def are_moving(self, within_s: float) -> bool:
        """Whether batches wait only for some that were sent no longer ago than this; not where a partition is stuck."""
        now_s = self._books.clock()
        return any(now_s - lane.since_s < within_s for lane in self._crowded)

    @property
    def are_busy(self) -> bool:
        """Whether a batch is being sent."""
        return any(lane.busy for lane in self._lanes.values())

    def drain(self) -> list[Records]:
        """The records of all batches that are not stored, decoded; nothing may be under way."""
        drained: list[Records] = []
        for lane in self._lanes.values():
            for piece in lane.queue:
                drained.append(piece.batch.records(lane.topic))
                self._books.forget(piece.batch.count, piece.batch.size_in_bytes)
                self._books.end_batch(piece.number)
            lane.queue.clear()
        self._crowded.clear()
        return drained

    def _queue_changed(self, lane: Lane) -> None:
        (self._crowded.add if lane.queue else self._crowded.discard)(lane)

    async def _work(self, lane: Lane) -> None:
        """Send all that waits for a partition, then end."""
        scope = self._books.scope()
        try:
            with scope:
                while lane.queue and not self._books.is_over:
                    await self._settle(lane, lane.queue[0])
        except Exception as error:  # a bug is not an outage: nothing would ever end this lane's rows
            self._books.fail(error)
        finally:
            lane.busy = False
            self._books.leave(scope)
            if self._books.is_over:
                self._books.notify()

    async def _settle(self, lane: Lane, piece: Piece) -> None:
        """Send a batch until it is stored or given up, or goes on as smaller ones."""
        info = await self._gate.enter(piece.batch.count, piece.batch.size_in_bytes)
        if self._books.is_over:
            # A cancellation comes only where something is waited for, and aiokafka takes a batch without waiting.
            self._gate.leave(info, stored=False)
            return
        lane.queue.popleft()
        self._queue_changed(lane)
        self._books.waiting -= piece.batch.count
        self._books.in_flight += piece.batch.count
        if not self._crowded:
            self._books.notify()
        refusal: RequestError | None = None
        stored = False
        try:
            refusal = await self._sent(lane, piece)
            stored = refusal is None
        finally:
            self._gate.leave(info, stored=stored)
            lane.since_s = inf
            if not stored and refusal is None:
                self._put_back(lane, piece)
        if refusal is None:
            self._books.acknowledge(piece.batch.count, piece.batch.size_in_bytes)
            self._books.end_batch(piece.number)
        elif self._books.is_over:
            # The client was given up below it: that says nothing of the batch.
            self._put_back(lane, piece)
        else:
            self._refused(lane, piece, refusal)
        self._books.notify()

    def _put_back(self, lane: Lane, piece: Piece) -> None:
        """What was cut off is held as before: its outcome is unknown."""
        lane.queue.appendleft(piece)
        self._queue_changed(lane)
        self._books.waiting += piece.batch.count
        self._books.in_flight -= piece.batch.count

    async def _sent(self, lane: Lane, piece: Piece) -> RequestError | None:
        """Try until it is stored, or a broker refuses it for what it is; the watch ends what takes too long."""
        lane.since_s = self._books.clock()
        backoffs = 0
        while True:
            piece.tries += 1
            self.retried_records += piece.batch.count if piece.tries > 1 else 0
            try:
                await self._client.send(lane.topic, lane.partition, piece.batch)
            except RequestError as error:
                if ERRORS.kind_of(error.code) not in (FailureKind.RETRYABLE, FailureKind.THROTTLED):
                    return error
                failure: Exception = error
            except OSError as error:
                failure = error
            else:
                return None
            backoffs += 1
            logger.warning(
                "%s-%d: a batch of %d records is sent again: %s", lane.topic, lane.partition, piece.batch.count, failure
            )
            await anyio.sleep(self._gate.backoff_s(backoffs))

    # ---- refusals --------------------------------------------------------------------------------------------

    def _refused(self, lane: Lane, piece: Piece, refusal: RequestError) -> None:
        books, batch = self._books, piece.batch
        books.in_flight -= batch.count
        books.size_in_bytes -= batch.size_in_bytes
        kind = ERRORS.kind_of(refusal.code)
        if kind is not FailureKind.REJECTED:
            books.waiting += batch.count
            books.size_in_bytes += batch.size_in_bytes
            books.fail(fatal(f"topic {lane.topic!r}, partition {lane.partition}", refusal))
        elif refusal.code in OF_THE_TOPIC:
            self._reject(lane, piece, refusal)
            self._reject_queue(lane, refusal)
        elif batch.count == 1:
            self._reject(lane, piece, refusal)
        else:
            if refusal.code in TOO_LARGE:
                self._too_large(batch.size_in_bytes)
            self._split(lane, piece)

    def _reject(self, lane: Lane, piece: Piece, refusal: RequestError) -> None:
        """Give up all records of a batch."""
        records = piece.batch.records(lane.topic, lane.partition)
        told = f"{refusal.message or 'refused'} (topic {lane.topic!r}, partition {lane.partition})"
        self._books.end_batch(piece.number)
        for at, sequence in enumerate(piece.batch.sequence.tolist()):
            self._rejections.reject(Refused(sequence, refusal.code, told, records.record(at)), piece.tries)

    def _reject_queue(self, lane: Lane, refusal: RequestError) -> None:
        """Give up what waits for a partition that is not there: each batch would take the time of the first."""
        while lane.queue and not self._books.is_over:
            piece = lane.queue.popleft()
            self._queue_changed(lane)
            self._books.waiting -= piece.batch.count
            self._books.size_in_bytes -= piece.batch.size_in_bytes
            self._reject(lane, piece, refusal)

    def _split(self, lane: Lane, piece: Piece) -> None:
        """Go on with two halves, until the record at fault is alone."""
        records = piece.batch.records(lane.topic, lane.partition)
        parts = self._resplit(records, (len(records) + 1) // 2)
        self._books.split_batch(piece.number, len(parts))
        for part in reversed(parts):
            lane.queue.appendleft(Piece(piece.number, part, piece.tries))
            self._queue_changed(lane)
            self._books.waiting += part.count
            self._books.size_in_bytes += part.size_in_bytes
