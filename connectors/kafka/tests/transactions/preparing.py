"""Transactions that a producer of aiokafka's own leaves open, and what a consumer that is not ours sees of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, TopicPartition

from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators

_SOON_S: Final = 60.0
_DECIDED_S: Final = 10.0
_POLL_S: Final = 0.05


async def prepared(
    coordinators: TransactionCoordinators,
    bootstrap: str,
    topic: str,
    transactional_id: str,
    values: Sequence[str],
    timeout_ms: int = 60_000,
) -> KafkaTransaction:
    """A transaction with these records, stored and not ended, whose producer is gone."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
    )
    await producer.start()
    await producer.begin_transaction()
    for value in values:
        await producer.send(topic, value.encode())
    await producer.flush()
    manager = producer._txn_manager
    await producer.stop()
    found = (await coordinators.describe([transactional_id]))[transactional_id]
    return KafkaTransaction(
        transactional_id, manager.producer_id, manager.producer_epoch, found.started_ms, timeout_ms, len(values)
    )


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again: brokers tell nobody what they have done."""
    with anyio.fail_after(_SOON_S):
        while True:
            if await holds():
                return
            await anyio.sleep(_POLL_S)


async def until_none_is_open(coordinators: TransactionCoordinators, prefix: str) -> None:
    """Return when none is, long before a timeout would be over: what was decided is ended a moment later."""

    async def is_none() -> bool:
        return not await coordinators.open_with(prefix)

    with anyio.fail_after(_DECIDED_S):
        await until(is_none)


async def until_ended(coordinators: TransactionCoordinators, transactional_id: str) -> None:
    """Return when the brokers have aborted it."""

    async def is_aborted() -> bool:
        return (await coordinators.describe([transactional_id]))[transactional_id].state == "CompleteAbort"

    await until(is_aborted)


def committed_in(bootstrap: str, topic: str, partitions: int = 3, timeout_s: float = 20.0, least: int = 0) -> list[str]:
    """What one who reads what is committed finds, up to the end or to the first open transaction, sorted.

    :param least: so many are waited for, up to ``timeout_s``: brokers show them a moment after they have taken a commit
    """
    deadline_s = time.monotonic() + timeout_s
    while len(found := _committed_in(bootstrap, topic, partitions, timeout_s)) < least:
        if time.monotonic() > deadline_s:
            break
        time.sleep(_POLL_S)
    return found


def _committed_in(bootstrap: str, topic: str, partitions: int, timeout_s: float) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
    )
    found: list[str] = []
    ended: set[int] = set()
    deadline_s = time.monotonic() + timeout_s
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        while len(ended) < partitions:
            assert time.monotonic() < deadline_s, f"only {ended} of {partitions} partitions could be read"
            if (message := consumer.poll(1.0)) is None:
                continue
            if message.error() is None:
                found.append(message.value().decode())
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, str(message.error())
                ended.add(message.partition())
    finally:
        consumer.close()
    return sorted(found)
