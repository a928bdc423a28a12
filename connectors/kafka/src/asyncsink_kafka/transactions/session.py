"""The transactions of one writer, one after the other: under which id, with which timeout, how they are prepared."""

from __future__ import annotations

import logging
from typing import Any, Final

import anyio

from asyncsink.errors import DeliveryError
from asyncsink.transactions import Transaction
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.coordinators import OPEN, UNDECIDED, Described, TransactionCoordinators
from asyncsink_kafka.transactions.naming import PLACES, pool
from asyncsink_kafka.transactions.timeouts import accepted_timeout_ms

logger = logging.getLogger(__name__)

_ABORT_S: Final = 5.0


class TransactionSession:
    """Finds ids for a writer's transactions.

    :param partition: the writer's
    :param first: a number of the attempt; copies of one task begin with different ids
    :param timeout_ms: of the transactions; None: the largest that the brokers take
    """

    def __init__(
        self,
        coordinators: TransactionCoordinators,
        prefix: str,
        transaction: Transaction,
        partition: int,
        first: int,
        timeout_ms: int | None,
    ) -> None:
        self._coordinators, self._prefix = coordinators, prefix
        self._transaction, self._partition, self._next = transaction, partition, first
        self._asked_ms = timeout_ms
        self._timeout_ms: int | None = None

    async def arguments(self) -> dict[str, Any]:
        """Those of a new ``AIOKafkaProducer``, which has an id for itself."""
        found = await self._free_id()
        self._next += 1
        if self._timeout_ms is None:
            self._timeout_ms = await accepted_timeout_ms(self._coordinators, found, self._asked_ms)
        return {"transactional_id": found, "transaction_timeout_ms": self._timeout_ms}

    async def prepared(self, transactional_id: str, producer_id: int, epoch: int, records: int) -> KafkaTransaction:
        """The committable of a transaction whose records are all stored.

        :raises DeliveryError: it is not open any more
        """
        found = (await self._coordinators.describe([transactional_id])).get(transactional_id)
        if not is_open(found, producer_id, epoch):
            raise DeliveryError(
                f"the transaction {transactional_id!r} was {_ended(found)} before it was prepared; nothing of "
                "it will be seen, and Spark repeats the task. If this comes again and again, make batches smaller or "
                "transactionTimeout longer, and see that no other query has the same checkpoint"
            )
        assert found is not None
        return KafkaTransaction(transactional_id, producer_id, epoch, found.started_ms, found.timeout_ms, records)

    async def abort(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        """Abort what will not be prepared, so that it holds up no reader. Where it fails, the next planner does it."""
        try:
            with anyio.fail_after(_ABORT_S, shield=True):
                await self._coordinators.end(transactional_id, producer_id, epoch, commit=False)
        except Exception as error:
            logger.warning("the transaction %r could not be aborted: %s", transactional_id, error)

    async def _free_id(self) -> str:
        """One under which nothing is open: it may be of a copy of this task, and be prepared."""
        ids = pool(self._prefix, self._transaction, self._partition, self._next)
        # One after the other, for the first is nearly always free.
        for each in ids:
            found = (await self._coordinators.describe([each])).get(each)
            if found is None or found.state not in OPEN:
                return each
        raise DeliveryError(
            f"all {PLACES} transactional ids of partition {self._partition}, such as {ids[0]!r}, have open "
            "transactions; they end when the query is started again, or when their timeout is over"
        )


def is_open(found: Described | None, producer_id: int, epoch: int) -> bool:
    """Whether a transaction is still its producer's, and can be committed."""
    if found is None or found.state not in UNDECIDED:
        return False
    return (found.producer_id, found.producer_epoch) == (producer_id, epoch)


def _ended(found: Described | None) -> str:
    if found is None:
        return "forgotten by the brokers"
    return f"ended ({found.state}, epoch {found.producer_epoch})"
