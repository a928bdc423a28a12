"""How a ready batch is given to aiokafka: by its private parts where they are as we know them, else by public ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from asyncsink_kafka.client.differences import differences
from asyncsink_kafka.client.publicly import PublicHandover
from asyncsink_kafka.client.watching import Partition
from asyncsink_kafka.private_names import KNOWN_VERSIONS

if TYPE_CHECKING:
    from aiokafka.protocol.produce import ProduceRequest

    from asyncsink_kafka.encoding import ReadyBatch

logger = logging.getLogger(__name__)

_warned = False


class Handover(Protocol):
    """Makes of a ready batch what ``AIOKafkaProducer.send_batch`` takes, and keeps its numbers right."""

    compresses: bool
    """Whether aiokafka has to compress, as the batch's own compression is lost on the way."""

    def builder(self, producer: Any, partition: Partition, batch: ReadyBatch) -> Any:
        """What to give to ``send_batch``."""

    def prepared(self, request: ProduceRequest) -> ProduceRequest:
        """What is to be sent in the place of a produce request, with the same meaning."""

    def stored(self, partition: Partition, records: int) -> None:
        """The batch of the partition was acknowledged."""

    def given_up(self, partition: Partition, *, new_epoch: bool) -> bool:
        """aiokafka has let go of the partition's batch, which was not acknowledged.

        :param new_epoch: whether its numbers may not be used for anything else: it may have been stored, or may yet be
        :return: whether the producer has to be renewed before the partition's next batch
        """

    def renewed(self) -> None:
        """A new producer, with an id of its own, is there."""

    async def abort(self, producer: Any, requests: Iterable[asyncio.Task[Any]]) -> None:
        """End the producer at once, with whatever it has; `requests` are its tasks that are at a produce request."""


def choose_handover(idempotent: bool) -> Handover:
    """The quick way if aiokafka's private parts are those that we know; the other way costs four times as much."""
    global _warned
    found = differences()
    if not found:
        # Only now: where private parts are missing, it cannot be imported.
        from asyncsink_kafka.client.internals import PrivateHandover

        return PrivateHandover()
    if not _warned:
        _warned = True
        logger.warning(
            "aiokafka is not as this version of asyncsink-kafka knows it (%s); batches are built again record by "
            "record, which is slower; install aiokafka%s",
            "; ".join(found),
            KNOWN_VERSIONS,
        )
    return PublicHandover(idempotent)


def open_transaction(producer: Any) -> tuple[str, int, int]:
    """Transactional id, producer id and epoch of an ``AIOKafkaProducer``, which has no public name for the latter."""
    manager = producer._txn_manager
    return manager.transactional_id, manager.producer_id, manager.producer_epoch


def has_partitions(producer: Any) -> bool:
    """Whether the brokers have heard of its transaction, which then stays open until somebody ends it."""
    return not producer._txn_manager.is_empty_transaction()


def transaction_error(producer: Any) -> BaseException | None:
    """Why it has given up its transaction; None while it has not.

    Of all batches that then fail only one is told, and not always the first.
    """
    end = producer._txn_manager.wait_for_transaction_end()
    return end.exception() if end is not None and end.done() else None
