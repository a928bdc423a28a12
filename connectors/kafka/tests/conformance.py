"""What the suites of the conformance kit share: what Kafka can do, and how a row is one of its records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from asyncsink_testing import Capabilities, SinkConformance
from asyncsink_testing.kafka import KafkaBroker, KafkaDestinations
from asyncsink_testing.kafka.skipping import skipped_without_kafka

PARTITIONS = 3


class KafkaConformance(SinkConformance):
    """Everything but the cluster, which a suite opens as its fixture `destination`."""

    __test__ = False

    connector = "kafka"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="partition",
        partial_failure=False,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state=False,
        commits=False,
        max_batch_entries=None,
        max_batch_bytes=None,
        max_record_bytes=1_048_576,
        client_modules=("aiokafka",),
    )

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"kafka.bootstrap.servers": "{endpoint}", "topic": "{topic}"}

    def element(self, row: Mapping[str, Any]) -> Any:
        return {"key": row["key"], "value": json.dumps(row)}

    def spark_columns(self, frame: Any) -> Any:
        return frame.selectExpr("key", "to_json(struct(id, key, text)) AS value")

    def spark_wrong_columns(self, frame: Any) -> Any:
        """Others beside them are ignored, as Spark's own sink does; a value must be bytes or characters."""
        return frame.selectExpr("key", "length(value) AS value")


class BrokerConformance(KafkaConformance):
    """Against Apache Kafka itself, behind the fault proxy: for the lane of services."""

    __test__ = False

    destination_level = "service"

    @pytest.fixture(scope="class")
    @classmethod
    def destinations(cls) -> Iterator[KafkaDestinations]:
        with skipped_without_kafka(), KafkaBroker() as broker:
            yield KafkaDestinations(broker, PARTITIONS)

    @pytest.fixture
    def destination(self, destinations: KafkaDestinations) -> KafkaDestinations:
        return destinations
