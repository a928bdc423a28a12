"""Under which ids a task writes, and with which timeout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from asyncsink.errors import DeliveryError, FatalRequestError
from asyncsink.transactions import Transaction
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.committer import KafkaCommitter
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_kafka.transactions.naming import PLACES
from asyncsink_kafka.transactions.session import TransactionSession
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .conftest import CONFIG, PROPERTIES
from .preparing import committed_in, prepared

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]

TRANSACTION = Transaction("0123456789abcdef", 3, 1)


def session(
    coordinators: TransactionCoordinators, prefix: str, attempt: int = 0, timeout_ms: int | None = None
) -> TransactionSession:
    return TransactionSession(coordinators, prefix, TRANSACTION, 4, attempt, timeout_ms)


async def test_each_transaction_of_a_writer_has_an_id_of_its_own(
    coordinators: TransactionCoordinators, topic: str
) -> None:
    ours = session(coordinators, topic)
    for place in range(2):
        assert await ours.arguments() == {
            "transactional_id": f"{topic}-0123456789abcdef-1-4-{place}",
            "transaction_timeout_ms": 900_000,
        }


async def test_an_id_whose_transaction_is_open_is_left_alone(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    taken = (await session(coordinators, topic).arguments())["transactional_id"]
    other = await prepared(coordinators, broker.bootstrap, topic, taken, ["of a copy of this task"])
    assert (await session(coordinators, topic).arguments())["transactional_id"] != taken
    assert await coordinators.end(taken, other.producer_id, other.producer_epoch, commit=True) == "NONE"
    assert committed_in(broker.bootstrap, topic, least=1) == ["of a copy of this task"]


async def test_where_all_are_taken_the_task_fails(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    ours = session(coordinators, topic)
    for _ in range(PLACES):
        taken = (await ours.arguments())["transactional_id"]
        await prepared(coordinators, broker.bootstrap, topic, taken, ["x"])
    with pytest.raises(DeliveryError, match=rf"all 8 transactional ids of partition 4, such as '{topic}-.*open"):
        await ours.arguments()


async def test_a_transaction_that_was_ended_meanwhile_is_not_prepared(
    coordinators: TransactionCoordinators, broker: KafkaBroker, topic: str
) -> None:
    other = await prepared(coordinators, broker.bootstrap, topic, f"{topic}-a", ["x"])
    await coordinators.fence(f"{topic}-a", 1_000)
    with pytest.raises(DeliveryError, match=r"was ended \(Empty, epoch 2\) before it was prepared"):
        await session(coordinators, topic).prepared(f"{topic}-a", other.producer_id, other.producer_epoch, 1)


@pytest.fixture(scope="module")
def hasty() -> Iterator[KafkaBroker]:
    """A broker that lets no transaction last longer than seven seconds."""
    with (
        skipped_without_kafka(),
        KafkaBroker(properties={**PROPERTIES, "transaction.max.timeout.ms": "7000"}) as broker,
    ):
        yield broker


async def test_by_default_the_timeout_is_the_longest_that_the_brokers_take(
    hasty: KafkaBroker, options: KafkaOptions
) -> None:
    async with coordinators_of(replace(options, bootstrap_servers=hasty.bootstrap), CONFIG) as coordinators:
        assert (await session(coordinators, "a").arguments())["transaction_timeout_ms"] == 7_000


async def test_of_one_that_is_short_the_driver_warns(
    hasty: KafkaBroker, options: KafkaOptions, caplog: pytest.LogCaptureFixture
) -> None:
    await checked(replace(options, bootstrap_servers=hasty.bootstrap, transactional_id_prefix="e"))
    assert "time out after 7 s, which is the brokers' transaction.max.timeout.ms, and not after the usual 900 s" in (
        caplog.text
    )


async def test_a_longer_one_is_refused_where_the_query_is_planned(hasty: KafkaBroker, options: KafkaOptions) -> None:
    asked = replace(options, bootstrap_servers=hasty.bootstrap, transaction_timeout_s=60.0)
    with pytest.raises(FatalRequestError, match=r"'transactionTimeout' = 60 s is longer than .*, 7 s; give at most"):
        await checked(asked)


async def checked(options: KafkaOptions) -> None:
    """As where a batch is planned."""
    committer = KafkaCommitter(options, CONFIG)
    try:
        await committer.check_destination()
    finally:
        await committer.aclose()


async def test_also_where_they_do_not_tell_it(
    hasty: KafkaBroker, options: KafkaOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(self: TransactionCoordinators) -> None:
        return None

    monkeypatch.setattr(TransactionCoordinators, "largest_timeout_ms", nothing)
    async with coordinators_of(replace(options, bootstrap_servers=hasty.bootstrap), CONFIG) as coordinators:
        found = (await session(coordinators, "b").arguments())["transaction_timeout_ms"]
    assert 3_500 < found <= 7_000


async def test_a_longer_one_that_was_asked_for_is_refused_with_both_numbers(
    hasty: KafkaBroker, options: KafkaOptions
) -> None:
    async with coordinators_of(replace(options, bootstrap_servers=hasty.bootstrap), CONFIG) as coordinators:
        with pytest.raises(
            FatalRequestError, match=r"'transactionTimeout' = 60 s is longer than .*, 7 s; give at most"
        ):
            await session(coordinators, "c", timeout_ms=60_000).arguments()


async def test_what_a_dead_task_has_left_is_ended_there_too(hasty: KafkaBroker, options: KafkaOptions) -> None:
    hasty.create_topic("swept", 1)
    options = replace(options, bootstrap_servers=hasty.bootstrap, topic="swept", transactional_id_prefix="d")
    committer = KafkaCommitter(options, CONFIG)
    async with coordinators_of(options, CONFIG) as coordinators:
        left = f"d-{TRANSACTION.sink_id}-0-4-0"
        await prepared(coordinators, hasty.bootstrap, "swept", left, ["x"], timeout_ms=7_000)
        await committer.sweep(TRANSACTION, [])
        # The brokers, who end it after seven seconds, would say CompleteAbort.
        assert (await coordinators.describe([left]))[left].state == "Empty"
    await committer.aclose()
