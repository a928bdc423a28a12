"""What the coordinators of a real broker say of transactions; our judgements rest on it."""

from __future__ import annotations

import pytest

from asyncsink.errors import RequestError
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_kafka.transactions.outcome import Outcome, committed
from asyncsink_testing.kafka import KafkaBroker

from .preparing import committed_in, prepared, until_ended, until_none_is_open

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]


async def test_what_is_prepared_is_seen_when_somebody_else_commits_it_and_again_does_no_harm(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    transaction = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["1", "2"])
    assert committed_in(broker.bootstrap, topic) == []
    assert await coordinators.open_with(f"{topic}-") == [f"{topic}-a"]
    for _ in range(2):
        assert await committed(coordinators, transaction) == (Outcome.COMMITTED, "NONE")
    assert committed_in(broker.bootstrap, topic, least=2) == ["1", "2"]
    await until_none_is_open(coordinators, f"{topic}-")


async def test_a_transaction_that_was_aborted_is_lost(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    transaction = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["1"])
    said = await coordinators.end(f"{topic}-a", transaction.producer_id, transaction.producer_epoch, commit=False)
    assert said == "NONE"
    outcome, told = await committed(coordinators, transaction)
    assert outcome is Outcome.LOST
    assert told.startswith("INVALID_TXN_STATE, and the id is ")
    assert committed_in(broker.bootstrap, topic) == []


async def test_so_is_one_whose_timeout_is_over(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    transaction = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["1"], timeout_ms=200)
    await until_ended(coordinators, f"{topic}-a")
    outcome, told = await committed(coordinators, transaction)
    assert outcome is Outcome.LOST
    assert told == "INVALID_PRODUCER_EPOCH, and the id is CompleteAbort with epoch 1"


async def test_whoever_is_held_up_by_one_reads_on_when_its_timeout_is_over(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    values = [str(number) for number in range(50)]
    await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", values, timeout_ms=5_000)
    others = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-b", ["behind"])
    assert (await committed(coordinators, others))[0] is Outcome.COMMITTED
    await until_ended(coordinators, f"{topic}-a")
    assert committed_in(broker.bootstrap, topic, least=1) == ["behind"]


async def test_one_that_was_committed_counts_so_though_its_id_was_taken_over_since(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    transaction = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["1"])
    assert (await committed(coordinators, transaction))[0] is Outcome.COMMITTED
    later = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["2"])
    assert later.producer_epoch == transaction.producer_epoch + 1
    assert (await committed(coordinators, transaction))[0] is Outcome.COMMITTED
    assert committed_in(broker.bootstrap, topic, least=1) == ["1"]


async def test_one_that_somebody_has_fenced_is_no_longer_known(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    transaction = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["1"])
    await coordinators.fence(f"{topic}-a", 1_000)
    assert (await committed(coordinators, transaction))[0] is Outcome.UNKNOWN
    assert committed_in(broker.bootstrap, topic) == []


async def test_an_id_that_nobody_has_used_is_not_described(coordinators: TransactionCoordinators, topic: str) -> None:
    assert await coordinators.describe([f"{topic}-nobody"]) == {}


async def test_the_longest_timeout_is_the_brokers(coordinators: TransactionCoordinators, topic: str) -> None:
    assert await coordinators.largest_timeout_ms() == 900_000
    with pytest.raises(RequestError, match="INVALID_TRANSACTION_TIMEOUT"):
        await coordinators.fence(f"{topic}-a", 900_001)
