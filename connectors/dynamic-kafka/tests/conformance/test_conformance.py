"""The conformance kit on the wire: every check of it, against two mock clusters behind the fault proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from asyncsink_testing.kafka import DynamicKafkaDestinations, MockCluster

from .suites import CLUSTERS, PARTITIONS, DynamicKafkaConformance

BROKERS = 2


@pytest.fixture(scope="module")
def destinations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamicKafkaDestinations]:
    with ExitStack() as stack:
        clusters = {name: stack.enter_context(MockCluster(BROKERS)) for name in CLUSTERS}
        yield DynamicKafkaDestinations(clusters, tmp_path_factory.mktemp("metadata"), PARTITIONS)


class TestDynamicKafka(DynamicKafkaConformance):
    @pytest.fixture
    def destination(self, destinations: DynamicKafkaDestinations) -> DynamicKafkaDestinations:
        return destinations
