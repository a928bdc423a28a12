"""A real broker for each module, whose transactions time out soon after they are asked to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from asyncsink.config import AsyncSinkWriterConfig, RetryPolicy
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_kafka.transactions.coordinators import TransactionCoordinators
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

_NUMBERS = count()

CONFIG = AsyncSinkWriterConfig(retry=RetryPolicy(timeout_s=20.0, initial_backoff_s=0.01, max_backoff_s=0.2))
PARTITIONS = 3
PROPERTIES = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with skipped_without_kafka(), KafkaBroker(properties=PROPERTIES) as broker:
        yield broker


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    name = f"topic-{next(_NUMBERS)}"
    broker.create_topic(name, PARTITIONS)
    return name


@pytest.fixture
def options(broker: KafkaBroker, topic: str) -> KafkaOptions:
    return KafkaOptions(bootstrap_servers=broker.bootstrap, topic=topic, delivery_guarantee="exactly-once")


@pytest.fixture
async def coordinators(options: KafkaOptions) -> AsyncIterator[TransactionCoordinators]:
    async with coordinators_of(options, CONFIG) as found:
        yield found


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
