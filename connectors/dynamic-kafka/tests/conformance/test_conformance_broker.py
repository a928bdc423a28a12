"""The conformance kit against two clusters of Apache Kafka itself, at least once: by night."""

from __future__ import annotations

import pytest

from .suites import BrokersConformance

pytestmark = [pytest.mark.kafka_service, pytest.mark.nightly]


class TestDynamicKafkaBrokers(BrokersConformance):
    """As it is for everybody: at least once."""
