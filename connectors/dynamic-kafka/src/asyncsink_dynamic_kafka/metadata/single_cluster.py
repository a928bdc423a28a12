"""Metadata of one cluster, asked of its brokers, as Flink's service of the same name does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.metadata.streams import ClusterMetadata, KafkaStream

# Less than a discovery has in all, so that it hears why the brokers cannot be reached.
_MOST_PATIENCE_S: Final = 15.0


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Each topic of one cluster is a stream of the same name; those of Kafka's own are not.

    A connection lives as long as one call: it is needed once in a minute.

    :param properties: under the names of Java's clients, ``bootstrap.servers`` among them
    :raises ConfigurationError: a property is not known or not supported, or breaks its rule
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        from asyncsink_kafka.sink import KafkaSink

        self.kafka_cluster_id, self._properties = kafka_cluster_id, dict(properties)
        given = {f"kafka.{name}": value for name, value in properties.items()}
        # No record is sent, so that acks=0 is as good as any.
        sink = KafkaSink.from_options({**given, "deliveryGuarantee": "none"})
        # A producer that is idempotent would ask for an id, and need permission for it.
        self._options = replace(sink.options, enable_idempotence=False)
        retry = sink.config.retry
        self._config = replace(sink.config, retry=replace(retry, timeout_s=min(retry.timeout_s, _MOST_PATIENCE_S)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kafka_cluster_id, self._properties)

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
