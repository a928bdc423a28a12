"""Where the rows of each stream may go, and since when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.metadata.snapshot import StreamMetadata

StreamMap = Mapping[str, frozenset[ClusterTopic]]


@dataclass(frozen=True, slots=True)
class Routes:
    """The cluster topics of each stream as one piece of metadata has them; streams without any are left out.

    :param number: of the metadata among those that a writer has followed
    :param since: of each cluster topic the number of the metadata since which the stream has had it without a break
    """

    number: int = 0
    since: Mapping[str, Mapping[ClusterTopic, int]] = field(default_factory=dict)

    def next(self, metadata: StreamMetadata, clusters: Collection[str]) -> Routes:
        """Those of newer metadata.

        :param clusters: the names of clusters that rows may go to
        """
        number = self.number + 1
        since_of: dict[str, Mapping[ClusterTopic, int]] = {}
        for stream_id, topics in metadata.streams.items():
            # By the cluster's name: what its old brokers have not stored goes to the new ones.
            had = {_place(each): since for each, since in self.since.get(stream_id, {}).items()}
            kept = (each for each in topics if each.kafka_cluster_identifier.name in clusters)
            found = {each: had.get(_place(each), number) for each in kept}
            if found:
                since_of[stream_id] = found
        return Routes(number, since_of)

    @property
    def streams(self) -> StreamMap:
        """As a router is told of them."""
        return {stream_id: frozenset(found) for stream_id, found in self.since.items()}

    def find(self, stream_id: str, target: ClusterTopic) -> ClusterTopic | None:
        """The cluster topic, perhaps by other brokers; None where rows of the stream may not go there."""
        found = self.since.get(stream_id, {})
        return target if target in found else next((each for each in found if _place(each) == _place(target)), None)

    def has(self, stream_id: str, target: ClusterTopic) -> bool:
        """Whether rows of the stream may go there."""
        return self.find(stream_id, target) is not None


@dataclass(frozen=True, slots=True)
class Departure:
    """The step from one metadata to the next, by which a cluster topic was lost."""

    before: Routes
    after: Routes

    def leaves_no_other(self, stream_id: str, target: ClusterTopic, routed_at: int) -> bool:
        """Whether a copy of a mirrored record that was not stored has to go elsewhere, one for all that are lost so.

        Another copy counts if its cluster topic has been the stream's without a break since the record was routed:
        there it is stored, or held, or it asks the same when that goes as well.

        :param routed_at: the number of the metadata by which the record was routed
        """
        had = {each for each, since in self.before.since.get(stream_id, {}).items() if since <= routed_at}
        if any(self.after.has(stream_id, each) for each in had):
            return False
        return target == min({*had, target})


def _place(target: ClusterTopic) -> tuple[str, str]:
    return target.kafka_cluster_identifier.name, target.topic
