"""Copies of one task, of which Spark takes the first that is done: none of them takes from another what it prepared."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from asyncsink import WriterInitContext
from asyncsink.transactions import Transaction
from asyncsink_kafka import KafkaSink
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_kafka.transactions.naming import PLACES
from asyncsink_kafka.writer import KafkaWriter
from asyncsink_testing.kafka import KafkaBroker

from .preparing import committed_in, until_none_is_open

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]

TRANSACTION = Transaction("0123456789abcdef", 3, 1)
TASK = WriterInitContext(writer_id=4, transaction=TRANSACTION)
ROWS = ["1", "2", "3"]


@pytest.fixture
def sink(options: KafkaOptions, topic: str) -> KafkaSink:
    """With ids that no other test of this broker uses."""
    return KafkaSink(
        bootstrap_servers=options.bootstrap_servers,
        topic=topic,
        delivery_guarantee="exactly-once",
        transactional_id_prefix=topic,
    )


async def started(stack: AsyncExitStack, sink: KafkaSink, attempt: int) -> KafkaWriter:
    """The writer of a copy, which has sent some of its rows."""
    writer = sink.create_writer(replace(TASK, attempt=attempt))
    await stack.enter_async_context(writer)
    await writer.write_many(ROWS[:2])
    await writer.flush()
    return writer


@pytest.mark.parametrize("attempts", [(0, 1), (3, 3 + PLACES), (5, 5)], ids=str)
async def test_copies_that_run_at_once_prepare_a_transaction_each_and_one_is_committed(
    sink: KafkaSink,
    coordinators: TransactionCoordinators,
    broker: KafkaBroker,
    topic: str,
    attempts: tuple[int, int],
) -> None:
    """Also where their numbers begin at the same place, as the first has sent something when the other begins."""
    async with AsyncExitStack() as stack:
        writers = [await started(stack, sink, attempt) for attempt in attempts]
        prepared = []
        for writer in writers:
            await writer.write_many(ROWS[2:])
            prepared += await writer.prepare_commit(flush=True)
    assert len({each.transactional_id for each in prepared}) == 2
    assert await coordinators.open_with(f"{topic}-") == sorted(each.transactional_id for each in prepared)
    committer = sink.create_committer()
    assert committer is not None
    try:
        await committer.check(prepared[1:])
        assert await committer.commit(prepared[1:]) == []
        await committer.sweep(TRANSACTION, [])
    finally:
        await committer.aclose()
    assert committed_in(broker.bootstrap, topic, least=len(ROWS)) == ROWS
    await until_none_is_open(coordinators, f"{topic}-")


async def test_a_copy_that_comes_late_leaves_what_is_prepared_alone(
    sink: KafkaSink, coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    async with AsyncExitStack() as stack:
        first = await started(stack, sink, 0)
        await first.write_many(ROWS[2:])
        (prepared,) = await first.prepare_commit(flush=True)
    async with sink.create_writer(replace(TASK, attempt=PLACES)) as late:
        await late.write_many(ROWS)
        await late.flush()
        said = await coordinators.end(
            prepared.transactional_id, prepared.producer_id, prepared.producer_epoch, commit=True
        )
        assert said == "NONE"
    assert committed_in(broker.bootstrap, topic, least=len(ROWS)) == ROWS
