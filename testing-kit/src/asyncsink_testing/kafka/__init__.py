"""Kafka for tests: librdkafka's mock cluster, real brokers, and a proxy that misbehaves in front of either."""

from __future__ import annotations

from asyncsink_testing.kafka.cluster import KafkaBroker, KafkaCluster
from asyncsink_testing.kafka.destination import KafkaDestination, KafkaDestinations
from asyncsink_testing.kafka.listeners import Sasl, Tls
from asyncsink_testing.kafka.mock import MockCluster
from asyncsink_testing.kafka.produce import Outcome, ProduceRequest
from asyncsink_testing.kafka.proxy import KafkaProxy
from asyncsink_testing.kafka.reaction import Reaction
from asyncsink_testing.kafka.streams import DynamicKafkaDestination, DynamicKafkaDestinations
from asyncsink_testing.kafka.unavailable import KafkaUnavailable

__all__ = [
    "DynamicKafkaDestination",
    "DynamicKafkaDestinations",
    "KafkaBroker",
    "KafkaCluster",
    "KafkaDestination",
    "KafkaDestinations",
    "KafkaProxy",
    "KafkaUnavailable",
    "MockCluster",
    "Outcome",
    "ProduceRequest",
    "Reaction",
    "Sasl",
    "Tls",
]
