"""The conformance kit against Apache Kafka itself, behind the fault proxy: for the lane of services."""

from __future__ import annotations

import pytest

from .conformance import BrokerConformance

pytestmark = pytest.mark.kafka_service


class TestKafkaBroker(BrokerConformance):
    """As it is for everybody: at least once."""
