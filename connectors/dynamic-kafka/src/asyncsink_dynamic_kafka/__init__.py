"""Rows to streams whose Kafka clusters and topics move at run time: ``format("asyncsink.dynamic_kafka")`` in Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.errors import MetadataError, MetadataUnavailableError
    from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
    from asyncsink_dynamic_kafka.metadata.http import HttpMetadataService
    from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic, KafkaClusterIdentifier
    from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
    from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService
    from asyncsink_dynamic_kafka.metadata.streams import ClusterMetadata, KafkaStream
    from asyncsink_dynamic_kafka.options import DynamicKafkaOptions
    from asyncsink_dynamic_kafka.record import KafkaStreamRecord
    from asyncsink_dynamic_kafka.routing.mirror import MirrorStreamRouter
    from asyncsink_dynamic_kafka.routing.round_robin import RoundRobinReconcilableStreamRouter
    from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
    from asyncsink_dynamic_kafka.routing.sticky import StickyReconcilableStreamRouter
    from asyncsink_dynamic_kafka.routing.weighted import WeightedReconcilableStreamRouter
    from asyncsink_dynamic_kafka.serializer import KafkaStreamRecordSerializer
    from asyncsink_dynamic_kafka.sink import DynamicKafkaSink

    __version__: str

__all__ = [
    "ClusterMetadata",
    "ClusterTopic",
    "DynamicKafkaOptions",
    "DynamicKafkaSink",
    "FileMetadataService",
    "HttpMetadataService",
    "KafkaClusterIdentifier",
    "KafkaMetadataService",
    "KafkaStream",
    "KafkaStreamRecord",
    "KafkaStreamRecordSerializer",
    "MetadataError",
    "MetadataUnavailableError",
    "MirrorStreamRouter",
    "ReconcilableStreamRouter",
    "RoundRobinReconcilableStreamRouter",
    "SingleClusterTopicMetadataService",
    "StickyReconcilableStreamRouter",
    "WeightedReconcilableStreamRouter",
]

_MODULES = {
    "ClusterMetadata": "metadata.streams",
    "ClusterTopic": "metadata.identifiers",
    "DynamicKafkaOptions": "options",
    "DynamicKafkaSink": "sink",
    "FileMetadataService": "metadata.file",
    "HttpMetadataService": "metadata.http",
    "KafkaClusterIdentifier": "metadata.identifiers",
    "KafkaMetadataService": "metadata.service",
    "KafkaStream": "metadata.streams",
    "KafkaStreamRecord": "record",
    "KafkaStreamRecordSerializer": "serializer",
    "MetadataError": "metadata.errors",
    "MetadataUnavailableError": "metadata.errors",
    "MirrorStreamRouter": "routing.mirror",
    "ReconcilableStreamRouter": "routing.router",
    "RoundRobinReconcilableStreamRouter": "routing.round_robin",
    "SingleClusterTopicMetadataService": "metadata.single_cluster",
    "StickyReconcilableStreamRouter": "routing.sticky",
    "WeightedReconcilableStreamRouter": "routing.weighted",
}


def __getattr__(name: str) -> Any:
    # Finding the connector imports this package first (PEP 562), and must not pay for more than that.
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_dynamic_kafka.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-dynamic-kafka")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_dynamic_kafka' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
