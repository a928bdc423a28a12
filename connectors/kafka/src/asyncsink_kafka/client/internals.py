"""What rests on private parts of aiokafka: the quick way to hand a batch over.

Used are: the methods that the sender calls on a ``BatchBuilder``, which :class:`SealedBatch` imitates; how a
connection writes a request, on which :mod:`~asyncsink_kafka.client.lean_request` rests; the sender's task and the
connections' transports, to end them without waiting for anybody.
:func:`~asyncsink_kafka.client.differences.differences` looks whether they are there before this module is imported,
and says what is not; then :class:`~asyncsink_kafka.client.publicly.PublicHandover` does the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio
from aiokafka.protocol.produce import ProduceRequest

from asyncsink_kafka.client.lean_request import lean
from asyncsink_kafka.client.watching import Partition

if TYPE_CHECKING:
    from asyncsink_kafka.encoding import ReadyBatch

_SEQUENCES: Final = 2**31
_LAST_EPOCH: Final = 2**15 - 1
_CLOSE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Numbers:
    """The producer's numbers for the next batch of one partition.

    The brokers keep epoch and sequence number of a producer for each partition apart, so that a partition may have an
    epoch of its own. A higher epoch starts at sequence number 0 and shuts out whatever of the lower one still comes.
    """

    epochs_above: int = 0
    """By how much the epoch is above the one that the brokers gave to the producer, which is 0 without transactions."""
    sequence: int = 0


class SealedBatch:
    """A ready batch that passes for aiokafka's ``BatchBuilder``. It ignores aiokafka's own count of the sequence."""

    __slots__ = ("_batch", "_buffer", "_numbers")

    def __init__(self, batch: ReadyBatch, numbers: Numbers) -> None:
        self._batch = batch
        self._numbers = numbers
        self._buffer: bytearray | None = None

    def record_count(self) -> int:
        return self._batch.count

    def size(self) -> int:
        return self._batch.size_in_bytes

    def closed(self) -> bool:
        return True

    def close(self) -> None:
        """It is closed from the beginning."""

    def append(self, **record: Any) -> None:
        """Say that it is full: ``AIOKafkaProducer.send`` then opens another one."""

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        epoch = producer_epoch + self._numbers.epochs_above
        self._buffer = self._batch.seal(producer_id, epoch, self._numbers.sequence)

    def _build(self) -> bytearray:
        if self._buffer is None:
            # Without idempotence the sender sets no state.
            self._buffer = self._batch.seal(-1, -1, -1)
        return self._buffer


_FIRST: Final = Numbers()


class PrivateHandover:
    """Hands the bytes over as they are, and numbers the batches of each partition itself.

    aiokafka counts a batch's sequence numbers as used when it takes the batch, also if the broker then refuses it: the
    next batch would be out of order. Here a batch that was surely not stored leaves its numbers to the next one; one
    that may have been stored takes its epoch with it, as in Java (KIP-360).
    """

    compresses = False

    def __init__(self) -> None:
        self._numbers: dict[Partition, Numbers] = {}

    def builder(self, producer: Any, partition: Partition, batch: ReadyBatch) -> SealedBatch:
        return SealedBatch(batch, self._numbers.get(partition, _FIRST))

    def prepared(self, request: ProduceRequest) -> ProduceRequest:
        return lean(request)

    def stored(self, partition: Partition, records: int) -> None:
        numbers = self._numbers.get(partition, _FIRST)
        self._numbers[partition] = Numbers(numbers.epochs_above, (numbers.sequence + records) % _SEQUENCES)

    def given_up(self, partition: Partition, *, new_epoch: bool) -> bool:
        if not new_epoch:
            return False
        numbers = Numbers(self._numbers.get(partition, _FIRST).epochs_above + 1)
        self._numbers[partition] = numbers
        return numbers.epochs_above > _LAST_EPOCH

    def renewed(self) -> None:
        self._numbers.clear()

    async def abort(self, producer: Any, requests: Iterable[asyncio.Task[Any]]) -> None:
        producer._closed = True
        tasks = {*requests}
        if (sender := producer._sender.sender_task) is not None:
            tasks.add(sender)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)
        # A peer that does not read would keep a connection open for as long as there is something to write.
        for connection in list(producer.client._conns.values()):
            if connection._writer is not None:
                connection._writer.transport.abort()
        with anyio.move_on_after(_CLOSE_S):
            await producer.client.close()
