"""What a writer leaves to its successor: the metadata it knew, and no credentials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic, KafkaClusterIdentifier


@dataclass(frozen=True, slots=True)
class DynamicKafkaWriterState:
    """Where a writer's streams were when it was last flushed (FLIP-515).

    A successor writes by it while the metadata service does not answer. It holds no property of a cluster, as these may
    be credentials: a cluster that needs its own waits for the service.

    :param stream_metadata_map: the cluster topics of each stream
    :param known_at_ms: when the metadata service said so, since the epoch; of several states the newest counts
    :param with_own_properties: names of the clusters that cannot be connected to without their own properties
    """

    stream_metadata_map: Mapping[str, frozenset[ClusterTopic]] = field(default_factory=dict)
    known_at_ms: int = 0
    with_own_properties: frozenset[str] = frozenset()


class DynamicKafkaWriterStateSerializer(SimpleVersionedSerializer[DynamicKafkaWriterState]):
    """JSON: the clusters as ``[name, bootstrap servers]``, and by stream ``[index of a cluster, topic]``.

    Everything is in order, so that equal states are equal bytes.
    """

    version = 1

    def serialize(self, value: DynamicKafkaWriterState) -> bytes:
        streams = {stream_id: sorted(found) for stream_id, found in sorted(value.stream_metadata_map.items())}
        clusters = sorted({each.kafka_cluster_identifier for found in streams.values() for each in found})
        places = {cluster: place for place, cluster in enumerate(clusters)}
        content = {
            "clusters": [[each.name, each.bootstrap_servers] for each in clusters],
            "streams": {
                stream_id: [[places[each.kafka_cluster_identifier], each.topic] for each in found]
                for stream_id, found in streams.items()
            },
            "known_at_ms": value.known_at_ms,
            "with_own_properties": sorted(value.with_own_properties),
        }
        return json.dumps(content, separators=(",", ":")).encode()

    def deserialize(self, version: int, data: bytes) -> DynamicKafkaWriterState:
        self._check_version(version)
        try:
            return _state(json.loads(data))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the bytes of a DynamicKafkaWriterState are damaged: {type(error).__name__}: {error}"
            ) from error


def _state(content: Any) -> DynamicKafkaWriterState:
    found = [KafkaClusterIdentifier(_text(name), _text(servers)) for name, servers in content["clusters"]]
    clusters = dict(enumerate(found))
    return DynamicKafkaWriterState(
        {
            stream_id: frozenset(ClusterTopic(clusters[place], _text(topic)) for place, topic in topics)
            for stream_id, topics in content["streams"].items()
        },
        _number(content["known_at_ms"]),
        frozenset(map(_text, content["with_own_properties"])),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} where a text must be")
    return value


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"a {type(value).__name__} where a whole number must be")
    return value


WRITER_STATES = DynamicKafkaWriterStateSerializer()
