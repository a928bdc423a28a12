"""The sink of one cluster: Kafka's own, with what the cluster is connected by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, WriterInitContext
from asyncsink_kafka.sink import KafkaSink

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.snapshot import Cluster
    from asyncsink_dynamic_kafka.options import DynamicKafkaOptions
    from asyncsink_kafka.options import KafkaOptions


class ClusterSink(KafkaSink):
    """A sink to one cluster of many. Two names may stand for the same brokers, and share no client all the same."""

    def __init__(self, name: str, options: KafkaOptions, config: AsyncSinkWriterConfig) -> None:
        super().__init__(options, config=config)
        self.cluster_name = name

    @property
    def client_key(self) -> str:
        return f"{super().client_key}/{self.cluster_name}"


def cluster_sink(options: DynamicKafkaOptions, config: AsyncSinkWriterConfig, cluster: Cluster) -> ClusterSink:
    """The sink of a cluster.

    :param options: the whole sink's, which the properties of the cluster override
    :raises MetadataError: a property of the cluster breaks its rule
    """
    # How many of all rows may be given up is judged over all clusters.
    limits = replace(options.config_for_cluster(cluster, config), max_rejected=1.0)
    return ClusterSink(cluster.name, options.for_cluster(cluster), limits)


def cluster_context(context: InitContext, name: str) -> InitContext:
    """What a cluster's writer is told: metrics of its own, and no columns, as it is given records."""
    return WriterInitContext(
        writer_id=context.writer_id,
        attempt=context.attempt,
        query_id=context.query_id,
        batch_id=context.batch_id,
        restored_batch_id=context.restored_batch_id,
        clients=context.clients,
        metric_group=context.metric_group.add_group("cluster", name),
        processing_time_service=context.processing_time_service,
        transaction=context.transaction,
    )
