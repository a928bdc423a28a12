"""A cluster, and a topic of a cluster, as FLIP-515 names them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class KafkaClusterIdentifier:
    """A Kafka cluster by a short name, which metrics and messages use, and by the brokers to begin with.

    The name is unique within a sink: two identifiers of one name are an error where metadata is read.
    """

    name: str
    bootstrap_servers: str


@dataclass(frozen=True, slots=True, order=True)
class ClusterTopic:
    """A topic in one of the clusters: where records of a stream are written to."""

    kafka_cluster_identifier: KafkaClusterIdentifier
    topic: str
