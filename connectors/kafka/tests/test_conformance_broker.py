"""The conformance kit against Apache Kafka itself, behind the fault proxy: for the lane of services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

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


class TestKafkaBroker(KafkaConformance):
    destination_level = "service"

    @pytest.fixture
    def destination(self, destinations: KafkaDestinations) -> KafkaDestinations:
        return destinations
