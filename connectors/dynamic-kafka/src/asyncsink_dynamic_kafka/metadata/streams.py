"""What a metadata service tells of a stream, in the terms of Flink's dynamic Kafka source (FLIP-246)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

BOOTSTRAP_SERVERS: Final = "bootstrap.servers"


@dataclass(frozen=True, slots=True, repr=False)
class ClusterMetadata:
    """The topics of a stream in one cluster, and how to connect to it.

    :param properties: under the names of Java's clients, ``bootstrap.servers`` among them; the others win over the
        sink's own ``kafka.*``. Their values are secret: ``repr`` shows the names alone
    """

    topics: frozenset[str]
    properties: Mapping[str, str] = field(hash=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(topics={sorted(self.topics)}, properties={sorted(self.properties)})"


@dataclass(frozen=True, slots=True)
class KafkaStream:
    """A logical stream: all records in the topics of its clusters together.

    :param cluster_metadata_map: by cluster id, which is the name in a
        :class:`~asyncsink_dynamic_kafka.KafkaClusterIdentifier`
    """

    stream_id: str
    cluster_metadata_map: Mapping[str, ClusterMetadata] = field(hash=False)
