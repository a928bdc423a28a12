"""Rows on their way to one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic, KafkaClusterIdentifier
from asyncsink_dynamic_kafka.routing.blocks import Rows, StreamBlock
from asyncsink_kafka.records import Records

Places = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """Rows for which topics of one cluster were chosen.

    :param topics: those that occur, each once
    :param topic_of: of each row the place of its topic among these
    :param routed_at: the number of the metadata by which they were routed, or of an earlier one
    """

    cluster: KafkaClusterIdentifier
    block: StreamBlock
    topics: tuple[str, ...]
    topic_of: Places
    routed_at: int

    @classmethod
    def of(cls, block: StreamBlock, targets: Sequence[tuple[ClusterTopic, Rows]], routed_at: int) -> Routed:
        """The rows of a block that go to these topics of one cluster, in order; the block itself where all do."""
        topic_of = np.full(len(block), -1, np.int32)
        for place, (_, rows) in enumerate(targets):
            topic_of[rows] = place
        chosen, count = np.flatnonzero(topic_of >= 0), sum(len(rows) for _, rows in targets)
        if len(chosen) < count:  # a record goes to several topics
            chosen = np.concatenate([rows for _, rows in targets])
            order = np.argsort(chosen, kind="stable")
            counts = [len(rows) for _, rows in targets]
            chosen, topic_of = chosen[order], np.repeat(np.arange(len(targets), dtype=np.int32), counts)[order]
            block = block.take(chosen)
        elif count < len(block):
            block, topic_of = block.take(chosen), topic_of[chosen]
        cluster = targets[0][0].kafka_cluster_identifier
        return cls(cluster, block, tuple(target.topic for target, _ in targets), topic_of, routed_at)

    def __len__(self) -> int:
        return len(self.block)

    @property
    def nbytes(self) -> int:
        return self.block.records.nbytes

    def records(self) -> Records:
        """As they are written."""
        return self.block.records.with_topics(self.topics, self.topic_of)

    def rest(self, start: int) -> Routed:
        """The rows from this one on."""
        return self._with(self.block.slice(start, len(self)), self.topic_of[start:])

    def parts(self) -> Iterator[tuple[str, ClusterTopic, Routed]]:
        """The rows of each stream in each topic."""
        codes = self.block.stream_of.astype(np.int64) * len(self.topics) + self.topic_of
        for code in np.unique(codes).tolist():
            stream, topic = divmod(code, len(self.topics))
            rows = np.flatnonzero(codes == code)
            part = self if len(rows) == len(self) else self._with(self.block.take(rows), self.topic_of[rows])
            yield self.block.streams[stream], ClusterTopic(self.cluster, self.topics[topic]), part

    def _with(self, block: StreamBlock, topic_of: Places) -> Routed:
        used, places = np.unique(topic_of, return_inverse=True)
        topics = tuple(self.topics[each] for each in used.tolist())
        return Routed(self.cluster, block, topics, places.astype(np.int32), self.routed_at)
