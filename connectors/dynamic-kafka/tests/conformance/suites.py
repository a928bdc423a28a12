"""What the suites of the conformance kit share: what the sink can do, and how a row is one of its records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from asyncsink_testing import Capabilities, SinkConformance
from asyncsink_testing.kafka import DynamicKafkaDestinations, KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

PARTITIONS = 2
CLUSTERS = ("A", "B")


class DynamicKafkaConformance(SinkConformance):
    """Everything but the clusters, which a suite opens as its fixture `destination`."""

    __test__ = False

    connector = "dynamic_kafka"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="partition",
        partial_failure=False,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state="without rows",
        commits=False,
        max_batch_entries=None,
        max_batch_bytes=None,
        max_record_bytes=1_048_576,
        client_modules=("aiokafka", "httpx", "yaml"),
    )

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        """All records of a key go to one cluster, as the checks of order ask by key."""
        return {
            "streamIds": "{stream}",
            "metadataService": "file",
            "metadataService.path": "{endpoint}",
            "router": "sticky",
        }

    def element(self, row: Mapping[str, Any]) -> Any:
        return {"key": row["key"], "value": json.dumps(row)}

    def spark_columns(self, frame: Any) -> Any:
        return frame.selectExpr("key", "to_json(struct(id, key, text)) AS value")

    def spark_wrong_columns(self, frame: Any) -> Any:
        """Others beside them are ignored, as by the Kafka sink; a value must be bytes or characters."""
        return frame.selectExpr("key", "length(value) AS value")


class BrokersConformance(DynamicKafkaConformance):
    """Against two clusters of Apache Kafka itself, behind the fault proxy: for the lane of services."""

    __test__ = False

    destination_level = "service"

    @pytest.fixture(scope="class")
    @classmethod
    def destinations(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamicKafkaDestinations]:
        with skipped_without_kafka(), ExitStack() as stack:
            clusters = {name: stack.enter_context(KafkaBroker()) for name in CLUSTERS}
            yield DynamicKafkaDestinations(clusters, tmp_path_factory.mktemp("metadata"), PARTITIONS)

    @pytest.fixture
    def destination(self, destinations: DynamicKafkaDestinations) -> DynamicKafkaDestinations:
        return destinations
