"""Metadata of one cluster, asked of its brokers, as Flink's service of the same name does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.metadata.streams import ClusterMetadata, KafkaStream

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig
    from asyncsink_kafka.sink import KafkaSink

# Less than a discovery has in all, so that it hears why the brokers cannot be reached.
_MOST_PATIENCE_S: Final = 15.0


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Each topic of one cluster is a stream of the same name; those of Kafka's own are not.

    A connection lives as long as one call: it is needed once in a minute.

    :param properties: what it tells of the cluster, under the names of Java's clients, ``bootstrap.servers`` among them
    :param sink: one that connects as the service is to do; by default the properties say how
    :raises ConfigurationError: a property is not known or not supported, or breaks its rule
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str], sink: KafkaSink | None = None) -> None:
        self.kafka_cluster_id, self._properties, self._given = kafka_cluster_id, dict(properties), sink
        sink = sink or _sink_of(properties)
        # No record is sent. A producer that is idempotent would ask for an id, and need permission for it.
        self._options = replace(
            sink.options,
            delivery_guarantee="none",
            enable_idempotence=False,
            transactional_id_prefix=None,
            transaction_timeout_s=None,
        )
        self._config = _impatient(sink.config)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kafka_cluster_id, self._properties, self._given)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kafka_cluster_id!r}, {sorted(self._properties)})"

    async def get_all_streams(self) -> Collection[KafkaStream]:
        return [self._stream(topic) for topic in sorted(await self._topics())]

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        # All topics are asked for here too: brokers may create a topic that is asked for by its name.
        return {topic: self._stream(topic) for topic in sorted(await self._topics() & set(stream_ids))}

    async def is_cluster_active(self, cluster_id: str) -> bool:
        return cluster_id == self.kafka_cluster_id

    async def _topics(self) -> set[str]:
        from asyncsink_kafka.client import connect

        async with connect(self._options, self._config) as client, client.brokers() as brokers:
            found: set[str] = (await brokers.fetch_all_metadata()).topics(exclude_internal_topics=True)
            return found

    def _stream(self, topic: str) -> KafkaStream:
        return KafkaStream(topic, {self.kafka_cluster_id: ClusterMetadata(frozenset({topic}), self._properties)})


def _sink_of(properties: Mapping[str, str]) -> KafkaSink:
    from asyncsink_kafka.sink import KafkaSink

    given = {f"kafka.{name}": value for name, value in properties.items()}
    # Else acks=0 would be refused, which is as good as any here.
    return KafkaSink.from_options({**given, "deliveryGuarantee": "none"})


def _impatient(config: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
    return replace(config, retry=replace(config.retry, timeout_s=min(config.retry.timeout_s, _MOST_PATIENCE_S)))
