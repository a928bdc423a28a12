"""The conformance kit on transactions in two clusters of Apache Kafka itself: for the lane of services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from .suites import BrokersConformance

pytestmark = pytest.mark.kafka_service


class TestDynamicKafkaTransactions(BrokersConformance):
    capabilities = replace(BrokersConformance.capabilities, guarantee="exactly-once", commits=True)

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {
            "streamIds": "{stream}",
            "metadataService": "file",
            "metadataService.path": "{endpoint}",
            "router": "sticky",
            "deliveryGuarantee": "exactly-once",
        }
