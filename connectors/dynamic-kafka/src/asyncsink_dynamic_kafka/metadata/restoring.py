"""The picture that earlier writers have left in their state, for as long as no service answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSubscriber
    from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState


def restored_metadata(states: Iterable[DynamicKafkaWriterState], subscriber: KafkaStreamSubscriber) -> StreamMetadata:
    """What the newest state that has it says of each stream; a cluster is where the newest of them says.

    :raises MetadataError: the states lack a stream that there must be
    """
    streams: dict[str, frozenset[ClusterTopic]] = {}
    clusters: dict[str, Cluster] = {}
    oldest_ms = None
    for state in sorted(states, key=lambda each: each.known_at_ms, reverse=True):
        for stream_id, topics in state.stream_metadata_map.items():
            if stream_id in streams or not topics or not subscriber.subscribes(stream_id):
                continue
            streams[stream_id] = frozenset(_placed(topic, state, clusters) for topic in topics)
            oldest_ms = state.known_at_ms
    subscriber.check(streams)
    return StreamMetadata(streams, dict(sorted(clusters.items())), oldest_ms or 0, is_restored=True)


def _placed(topic: ClusterTopic, state: DynamicKafkaWriterState, clusters: dict[str, Cluster]) -> ClusterTopic:
    """The topic in its cluster as it is known best; a cluster that is not known yet is added to `clusters`."""
    identifier = topic.kafka_cluster_identifier
    alone = identifier.name in state.with_own_properties
    known = clusters.setdefault(identifier.name, Cluster(identifier, None, needs_properties=alone))
    return ClusterTopic(known.identifier, topic.topic)
