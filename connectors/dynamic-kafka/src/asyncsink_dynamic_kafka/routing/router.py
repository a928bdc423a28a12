"""What chooses the cluster topic of a record among those of its stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.record import KafkaStreamRecord

StreamMetadataMap = Mapping[str, frozenset[ClusterTopic]]
"""By stream id, the cluster topics that may be written to now."""


class ReconcilableStreamRouter(ABC):
    """Routes records to cluster topics (FLIP-515); each writer has one of its own, which may remember what it chose.

    It is pickled with the sink, before it has seen any metadata. One of your own defines :meth:`route` and
    :meth:`reconcile`; one that writes a record to several places defines :meth:`route_all` as well. A router may also
    define ``route_block(block: StreamBlock) -> list[tuple[ClusterTopic, NDArray[np.int64]]]``, which routes many
    records at once: to each cluster topic the places of its records in the block, in order.
    """

    @abstractmethod
    def route(self, record: KafkaStreamRecord) -> ClusterTopic:
        """The cluster topic that a record goes to, one of those that the last :meth:`reconcile` named for its stream.

        :raises LookupError: the stream has no cluster topic
        """

    def route_all(self, record: KafkaStreamRecord) -> Sequence[ClusterTopic]:
        """Every cluster topic that a record is written to, each once; by default that of :meth:`route` alone.

        :raises LookupError: the stream has no cluster topic
        """
        return (self.route(record),)

    @abstractmethod
    def reconcile(self, stream_metadata_map: StreamMetadataMap) -> None:
        """Route by this metadata from now on; called before the first record, and whenever the metadata changes.

        :param stream_metadata_map: of active clusters only; none of a stream all of whose clusters are inactive
        """


def no_cluster_topic(stream_id: str) -> LookupError:
    """The error of a stream that has no cluster topic to write to."""
    return LookupError(
        f"stream {stream_id!r} has no cluster topic that may be written to now; see what the metadata service says "
        "of it"
    )
