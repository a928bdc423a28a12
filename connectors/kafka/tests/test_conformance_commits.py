"""The conformance kit on transactions of Apache Kafka itself: for the lane of services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

import pytest

from asyncsink_testing.kafka import KafkaBroker, KafkaDestinations, KafkaUnavailable

from .conformance import PARTITIONS, KafkaConformance

pytestmark = pytest.mark.kafka_service


@pytest.fixture(scope="module")
def destinations() -> Iterator[KafkaDestinations]:
    with ExitStack() as stack:
        try:
            broker = stack.enter_context(KafkaBroker())
        except KafkaUnavailable as reason:
            pytest.skip(str(reason))
        yield KafkaDestinations(broker, PARTITIONS)


class TestKafkaTransactions(KafkaConformance):
    destination_level = "service"
    capabilities = replace(KafkaConformance.capabilities, guarantee="exactly-once", commits=True)

    @pytest.fixture
    def destination(self, destinations: KafkaDestinations) -> KafkaDestinations:
        return destinations

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {
            "kafka.bootstrap.servers": "{endpoint}",
            "topic": "{topic}",
            "deliveryGuarantee": "exactly-once",
        }
