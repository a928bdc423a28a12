"""The transactions of one writer, one after the other: under which id, with which timeout, how they are prepared."""

from __future__ import annotations

import logging
from typing import Any, Final

import anyio

from asyncsink.errors import DeliveryError, FatalRequestError, RequestError
from asyncsink.transactions import Transaction
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.coordinators import OPEN, Described, TransactionCoordinators
from asyncsink_kafka.transactions.naming import PLACES, pool

logger = logging.getLogger(__name__)

USUAL_MAXIMUM_MS: Final = 900_000
"""The brokers' ``transaction.max.timeout.ms`` where nobody has set it."""

LEAST_TIMEOUT_MS: Final = 1_000
"""Brokers that take no longer one are of no use."""

_ABORT_S: Final = 5.0
_TOO_LONG: Final = "INVALID_TRANSACTION_TIMEOUT"


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
            self._timeout_ms = await self._accepted_timeout_ms(found)
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

    async def _accepted_timeout_ms(self, transactional_id: str) -> int:
        """The timeout, if the brokers take it; or the largest that they do, found by halving where they do not tell."""
        timeout_ms = self._asked_ms or USUAL_MAXIMUM_MS
        while True:
            try:
                await self._coordinators.fence(transactional_id, timeout_ms)
            except RequestError as error:
                if error.code != _TOO_LONG:
                    raise
            else:
                return timeout_ms
            largest_ms = await self._coordinators.largest_timeout_ms()
            if self._asked_ms is not None:
                allowed = "that is set there" if largest_ms is None else f"{largest_ms / 1000:g} s"
                raise FatalRequestError(
                    f"option 'transactionTimeout' = {self._asked_ms / 1000:g} s is longer than the brokers' "
                    f"transaction.max.timeout.ms, {allowed}; give at most that, or leave it out"
                )
            lower_ms = largest_ms or timeout_ms // 2
            if lower_ms < LEAST_TIMEOUT_MS or lower_ms >= timeout_ms:
                raise FatalRequestError(
                    f"the brokers take no transaction timeout, not even {timeout_ms / 1000:g} s: look at their "
                    "transaction.max.timeout.ms"
                )
            logger.warning(
                "transactions time out after %g s, which is the brokers' transaction.max.timeout.ms, and not after %g "
                "s: a query that is down for longer writes its last batch again",
                lower_ms / 1000,
                timeout_ms / 1000,
            )
            timeout_ms = lower_ms


def is_open(found: Described | None, producer_id: int, epoch: int) -> bool:
    """Whether a transaction is still its producer's, and can be committed."""
    if found is None or found.state != "Ongoing":
        return False
    return (found.producer_id, found.producer_epoch) == (producer_id, epoch)


def _ended(found: Described | None) -> str:
    if found is None:
        return "forgotten by the brokers"
    return f"ended ({found.state}, epoch {found.producer_epoch})"
