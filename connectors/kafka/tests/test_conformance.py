"""The conformance kit on the wire: every check of it, against librdkafka's mock cluster behind the fault proxy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asyncsink_testing.kafka import KafkaDestinations, MockCluster

from .conformance import PARTITIONS, KafkaConformance

BROKERS = 3


@pytest.fixture(scope="module")
def destinations() -> Iterator[KafkaDestinations]:
    with MockCluster(BROKERS) as cluster:
        yield KafkaDestinations(cluster, PARTITIONS)


class TestKafka(KafkaConformance):
    @pytest.fixture
    def destination(self, destinations: KafkaDestinations) -> KafkaDestinations:
        return destinations
