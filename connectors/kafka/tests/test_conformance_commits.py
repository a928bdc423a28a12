"""The conformance kit on transactions of Apache Kafka itself: for the lane of services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from .conformance import BrokerConformance

pytestmark = pytest.mark.kafka_service


class TestKafkaTransactions(BrokerConformance):
    capabilities = replace(BrokerConformance.capabilities, guarantee="exactly-once", commits=True)

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {
            "kafka.bootstrap.servers": "{endpoint}",
            "topic": "{topic}",
            "deliveryGuarantee": "exactly-once",
        }
