"""Options that are enough for a sink, and clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink_dynamic_kafka import DynamicKafkaOptions, KafkaClusterIdentifier
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster

FILE: Final[Mapping[str, str]] = {
    "streamIds": "orders",
    "metadataService": "file",
    "metadataService.path": "/shared/streams.yaml",
}


def options_of(changes: Mapping[str, str | None] | None = None) -> DynamicKafkaOptions:
    """Those options with changes; None takes one out."""
    merged = {**FILE, **(changes or {})}
    return DynamicKafkaOptions.from_options({key: value for key, value in merged.items() if value is not None})


def cluster_of(properties: Mapping[str, str], name: str = "blue") -> Cluster:
    return Cluster(KafkaClusterIdentifier(name, "blue:9092"), properties)
