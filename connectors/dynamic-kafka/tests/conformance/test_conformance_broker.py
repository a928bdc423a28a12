"""The conformance kit against two clusters of Apache Kafka itself: for the lane of services."""

from __future__ import annotations

import pytest

from .suites import BrokersConformance

pytestmark = pytest.mark.kafka_service


class TestDynamicKafkaBrokers(BrokersConformance):
    """As it is for everybody: at least once."""
