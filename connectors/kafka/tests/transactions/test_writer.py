"""A writer within a transaction: rows that brokers refuse, a transaction that somebody ends, leaving in the midst."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import anyio
import pytest

from asyncsink import DeliveryError, FatalRequestError, WriterInitContext
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink.transactions import Transaction
from asyncsink_kafka import KafkaRecord, KafkaSink
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_kafka.transactions.outcome import Outcome, committed
from asyncsink_kafka.writer import KafkaWriter
from asyncsink_testing.kafka import KafkaBroker

from .conftest import CONFIG
from .preparing import committed_in, until_ended, until_none_is_open

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]

GOOD = [f"{number:02}" for number in range(12)]
TOO_LARGE = "x" * 5_000


@pytest.fixture
def transaction() -> Transaction:
    """One of a sink that no other test has."""
    return Transaction(uuid4().hex[:16], 1, 0)


@pytest.fixture
def small(broker: KafkaBroker, topic: str) -> str:
    """A topic that takes no large rows."""
    name = f"{topic}-small"
    broker.create_topic(name, 3, config={"max.message.bytes": "1000"})
    return name


def writer_of(options: KafkaOptions, transaction: Transaction, **limits: Any) -> KafkaWriter:
    sink = KafkaSink(options, config=replace(KafkaSink(options).config, retry=CONFIG.retry, **limits))
    return sink.create_writer(WriterInitContext(transaction=transaction))


def prefix_of(transaction: Transaction) -> str:
    return f"asyncsink-{transaction.sink_id}-"


async def open_ids(coordinators: TransactionCoordinators, transaction: Transaction) -> list[str]:
    return await coordinators.open_with(prefix_of(transaction))


@pytest.mark.parametrize("on_rejected", ["drop", "dead_letter"])
async def test_rows_that_the_brokers_refuse_are_not_in_it_and_the_rest_is_committed(
    coordinators: TransactionCoordinators,
    broker: KafkaBroker,
    small: str,
    options: KafkaOptions,
    transaction: Transaction,
    on_rejected: Any,
) -> None:
    store = DeadLetterMemory()
    letters = {"dead_letters": store} if on_rejected == "dead_letter" else {}
    options = replace(options, topic=small)
    async with writer_of(options, transaction, on_rejected=on_rejected, max_rejected=1.0, **letters) as writer:
        await writer.write_many([*GOOD[:6], TOO_LARGE, *GOOD[6:]])
        await writer.flush()
        await writer.write_many([TOO_LARGE])
        (prepared,) = await writer.prepare_commit(flush=True)
    assert prepared.records == len(GOOD)
    assert (await committed(coordinators, prepared))[0] is Outcome.COMMITTED
    assert committed_in(broker.bootstrap, small, least=len(GOOD)) == GOOD
    assert [each.code for each in store.letters] == (["MESSAGE_TOO_LARGE"] * 2 if letters else [])


async def test_one_whose_rows_were_all_refused_is_not_left_open(
    coordinators: TransactionCoordinators, small: str, options: KafkaOptions, transaction: Transaction
) -> None:
    limits: dict[str, Any] = {"on_rejected": "drop", "max_rejected": 1.0}
    async with writer_of(replace(options, topic=small), transaction, **limits) as writer:
        await writer.write_many([TOO_LARGE])
        assert await writer.prepare_commit(flush=True) == []
        assert len(await open_ids(coordinators, transaction)) == 1
    await until_none_is_open(coordinators, prefix_of(transaction))


async def write_two(
    coordinators: TransactionCoordinators,
    options: KafkaOptions,
    transaction: Transaction,
    partitions: tuple[int, int],
    between: Callable[[str], Awaitable[None]],
) -> None:
    """Write two rows, between which something happens to their transaction, and prepare it."""
    first, second = partitions
    async with writer_of(options, transaction) as writer:
        await writer.write(KafkaRecord(value=b"1", partition=first))
        await writer.flush()
        (taken,) = await open_ids(coordinators, transaction)
        await between(taken)
        await writer.write(KafkaRecord(value=b"2", partition=second))
        await writer.prepare_commit(flush=True)


@pytest.mark.parametrize("second", [0, 1])
async def test_where_somebody_takes_its_id_over_the_task_fails_with_the_remedy(
    coordinators: TransactionCoordinators, options: KafkaOptions, transaction: Transaction, second: int
) -> None:
    """In a partition of the transaction, where the leader refuses; in another one, where the coordinator does."""

    async def take_over(taken: str) -> None:
        await coordinators.fence(taken, 1_000)

    with pytest.raises(FatalRequestError, match=r"TRANSACTION_FAILED: .*fenced, make batches smaller or transactionT"):
        await write_two(coordinators, options, transaction, (0, second), take_over)


async def test_one_that_was_ended_before_it_is_prepared_is_not_prepared(
    coordinators: TransactionCoordinators, options: KafkaOptions, transaction: Transaction
) -> None:
    with pytest.raises(DeliveryError, match=r"was ended \(CompleteAbort, epoch \d\) .* and Spark repeats the task\."):
        await write_and_end(coordinators, options, transaction)


async def write_and_end(coordinators: TransactionCoordinators, options: KafkaOptions, transaction: Transaction) -> None:
    async with writer_of(options, transaction) as writer:
        await writer.write("1")
        await writer.flush()
        (taken,) = await open_ids(coordinators, transaction)
        found = (await coordinators.describe([taken]))[taken]
        await coordinators.end(taken, found.producer_id, found.producer_epoch, commit=False)
        await until_ended(coordinators, taken)
        await writer.prepare_commit(flush=True)


async def leave(writer: KafkaWriter) -> None:
    """Nothing more comes."""


async def fail(writer: KafkaWriter) -> None:
    raise RuntimeError("the rows end here")


async def give_up(writer: KafkaWriter) -> None:
    await writer.aclose()


async def cancel(writer: KafkaWriter) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await writer.flush()


@pytest.mark.parametrize("how", [leave, fail, give_up, cancel])
async def test_one_that_nobody_prepares_is_aborted_when_its_writer_is_left(
    coordinators: TransactionCoordinators,
    broker: KafkaBroker,
    topic: str,
    options: KafkaOptions,
    transaction: Transaction,
    how: Callable[[KafkaWriter], Awaitable[None]],
) -> None:
    try:
        async with writer_of(options, transaction) as writer:
            await writer.write("1")
            await writer.flush()
            assert len(await open_ids(coordinators, transaction)) == 1
            await how(writer)
    except RuntimeError:
        assert how is fail
    await until_none_is_open(coordinators, prefix_of(transaction))
    assert committed_in(broker.bootstrap, topic) == []
