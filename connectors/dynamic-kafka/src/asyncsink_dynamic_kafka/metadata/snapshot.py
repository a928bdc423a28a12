"""One resolved picture of the subscribed streams: which clusters there are, and which topics of theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from asyncsink_dynamic_kafka.metadata.errors import MetadataError
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic, KafkaClusterIdentifier
from asyncsink_dynamic_kafka.metadata.streams import BOOTSTRAP_SERVERS, ClusterMetadata, KafkaStream
from asyncsink_kafka.options.topic_names import is_topic_name


@dataclass(frozen=True, slots=True, repr=False)
class Cluster:
    """A cluster of the subscribed streams, and how to connect to it.

    :param properties: its own ones beside ``bootstrap.servers``; None where it is known from state, which holds nothing
        secret
    :param is_active: whether the service says that records may be written to it
    :param needs_properties: it had properties of its own, which only the service can tell again
    """

    identifier: KafkaClusterIdentifier
    properties: Mapping[str, str] | None
    is_active: bool = True
    needs_properties: bool = False

    @property
    def name(self) -> str:
        return self.identifier.name

    @property
    def is_writable(self) -> bool:
        """Whether records may be written to it now."""
        return self.is_active and not self.needs_properties

    def __repr__(self) -> str:
        known = None if self.properties is None else sorted(self.properties)
        return (
            f"{type(self).__name__}({self.identifier!r}, properties={known}, is_active={self.is_active}, "
            f"needs_properties={self.needs_properties})"
        )


@dataclass(frozen=True, slots=True)
class StreamMetadata:
    """What the subscribed streams are made of, all at one time.

    Bootstrap servers stand in order and without blanks, so that those in another order are the same.

    :param streams: the topics of each stream, those of inactive clusters too; never none
    :param clusters: by name, those of the streams and no others
    :param known_at_ms: when the service said so, in ms since the epoch
    :param is_restored: whether it comes from the state of an earlier writer, and not from the service
    """

    streams: Mapping[str, frozenset[ClusterTopic]]
    clusters: Mapping[str, Cluster]
    known_at_ms: int
    is_restored: bool = False

    @classmethod
    def of(
        cls, streams: Iterable[KafkaStream], known_at_ms: int, inactive: Collection[str] = frozenset()
    ) -> StreamMetadata:
        """The picture of what a service has told.

        :param inactive: the names of clusters that nothing may be written to
        :raises MetadataError: a stream has no topic or comes twice, a cluster has no bootstrap servers, or is told of
            in two ways
        """
        topics: dict[str, frozenset[ClusterTopic]] = {}
        clusters: dict[str, Cluster] = {}
        for stream in streams:
            if stream.stream_id in topics:
                raise MetadataError(
                    f"the metadata service tells of stream {stream.stream_id!r} twice; a stream has one entry with all "
                    "its clusters"
                )
            topics[stream.stream_id] = _topics_of(stream, clusters)
        found = {name: replace(clusters[name], is_active=name not in inactive) for name in sorted(clusters)}
        return cls(topics, found, known_at_ms)

    @property
    def writable(self) -> dict[str, frozenset[ClusterTopic]]:
        """The topics of each stream that may be written to now; none of a stream whose clusters are all inactive."""
        return {
            stream_id: frozenset(
                topic for topic in topics if self.clusters[topic.kafka_cluster_identifier.name].is_writable
            )
            for stream_id, topics in self.streams.items()
        }

    def says_the_same_as(self, other: StreamMetadata) -> bool:
        """Whether nothing has changed, whenever both were known."""
        return self.streams == other.streams and self.clusters == other.clusters


def _topics_of(stream: KafkaStream, clusters: dict[str, Cluster]) -> frozenset[ClusterTopic]:
    """The topics of a stream; its clusters are added to `clusters`."""
    found: set[ClusterTopic] = set()
    for name, metadata in stream.cluster_metadata_map.items():
        if not isinstance(metadata, ClusterMetadata) or not isinstance(metadata.properties, Mapping):
            raise MetadataError(
                f"cluster {name!r} of stream {stream.stream_id!r} has no ClusterMetadata with a mapping of properties; "
                "let the metadata service tell of it by one"
            )
        # A cluster that a stream has left may be listed for a while without a topic: nobody has to connect to it.
        if not metadata.topics:
            continue
        cluster = _cluster(stream.stream_id, name, metadata)
        known = clusters.setdefault(name, cluster)
        if known != cluster:
            raise _contradiction(stream.stream_id, known, cluster)
        found.update(ClusterTopic(known.identifier, topic) for topic in metadata.topics)
    if not found:
        raise MetadataError(
            f"stream {stream.stream_id!r} has no topic in any cluster; give it one, or do not subscribe to it"
        )
    return frozenset(found)


def _cluster(stream_id: str, name: str, metadata: ClusterMetadata) -> Cluster:
    _check_types(stream_id, name, metadata)
    servers = metadata.properties.get(BOOTSTRAP_SERVERS, "")
    in_order = ",".join(sorted({each.strip() for each in servers.split(",")} - {""}))
    if not name or not in_order:
        raise MetadataError(
            f"cluster {name!r} of stream {stream_id!r} needs a name that is not empty and the property "
            f"{BOOTSTRAP_SERVERS}; give it both in the metadata"
        )
    own = {key: value for key, value in metadata.properties.items() if key != BOOTSTRAP_SERVERS}
    return Cluster(KafkaClusterIdentifier(name, in_order), own)


def _check_types(stream_id: str, name: str, metadata: ClusterMetadata) -> None:
    """A user's service may answer anything; what is wrong has to show here and not amid the rows."""
    topics = metadata.topics
    # A bare string is a collection of its letters.
    if isinstance(topics, str) or not all(isinstance(each, str) and is_topic_name(each) for each in topics):
        raise MetadataError(
            f"cluster {name!r} of stream {stream_id!r} has the topics {topics!r}; give a set of names, each of "
            "1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'"
        )
    for key, value in metadata.properties.items():
        if not isinstance(value, str):
            raise MetadataError(
                f"property {key!r} of cluster {name!r} in stream {stream_id!r} is of type {type(value).__name__}; "
                "write it as a string, as Java's clients take it"
            )


def _contradiction(stream_id: str, known: Cluster, cluster: Cluster) -> MetadataError:
    """Two streams tell of one cluster in two ways; values of properties may be secret and are not shown."""
    name = cluster.name
    if known.identifier != cluster.identifier:
        return MetadataError(
            f"two clusters have the name {name!r}: stream {stream_id!r} says that it is at "
            f"{cluster.identifier.bootstrap_servers}, and another stream at {known.identifier.bootstrap_servers}; give "
            "each cluster a name of its own"
        )
    before, now = known.properties or {}, cluster.properties or {}
    differing = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
    return MetadataError(
        f"cluster {name!r} has other properties in stream {stream_id!r} than in another stream: they differ in "
        f"{', '.join(differing)}; give the same ones in all streams, or the cluster two names"
    )
