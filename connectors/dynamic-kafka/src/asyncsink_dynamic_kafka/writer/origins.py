"""Of which stream a record was that a cluster has not taken: its batch knows topic and sequence only."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_dynamic_kafka.metadata.identifiers import KafkaClusterIdentifier
from asyncsink_dynamic_kafka.record import KafkaStreamRecord, StreamRecordBytes
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock
from asyncsink_dynamic_kafka.writer.routed import Routed
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

MOST: Final = 100_000
"""Records that are remembered before what the cluster has in hand has to be stored: some 20 MB."""


class Origins:
    """The streams of what one cluster was given. As a rule a topic belongs to one stream, and nothing is remembered."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._others: dict[tuple[str, int], str] = {}
        """The stream of a record, by topic and sequence, where it is not the first of that topic."""

    @property
    def is_full(self) -> bool:
        return len(self._others) > MOST

    def note(self, routed: Routed) -> None:
        """The writer of the cluster is given these records."""
        streams = routed.block.streams
        if len(streams) == 1 and all(self._first.setdefault(each, streams[0]) == streams[0] for each in routed.topics):
            return
        for stream_id, target, part in routed.parts():
            if self._first.setdefault(target.topic, stream_id) != stream_id:
                for sequence in part.block.records.sequence.tolist():
                    self._others[target.topic, sequence] = stream_id

    def stream_of(self, topic: str) -> str:
        """The stream that a topic belongs to, or the first of several."""
        return self._first[topic]

    def forget(self) -> None:
        """All that was noted is stored or given up."""
        self._others.clear()

    def routed(self, cluster: KafkaClusterIdentifier, records: Records, routed_at: int) -> Routed:
        """Records of this cluster, each with a topic, as they were before they were given to it."""
        coded = records.coded_topics
        assert coded is not None
        topics, topic_of = coded.dictionary.to_pylist(), coded.indices.to_numpy()
        found = [
            self._others.get((topics[place], sequence)) or self._first[topics[place]]
            for place, sequence in zip(topic_of.tolist(), records.sequence.tolist(), strict=True)
        ]
        places: dict[str, int] = {}
        stream_of = np.fromiter((places.setdefault(each, len(places)) for each in found), np.int32, len(found))
        block = StreamBlock(streams=tuple(places), stream_of=stream_of, records=replace(records, topic=None))
        return Routed(cluster, block, tuple(topics), topic_of.astype(np.int32), routed_at)


class CopyBytes(SimpleVersionedSerializer[KafkaRecord]):
    """The bytes, in a dead letter, of a record that a cluster has refused: those of a record of its stream."""

    version = StreamRecordBytes.version

    def __init__(self, origins: Origins) -> None:
        self._origins, self._records = origins, StreamRecordBytes()

    def serialize(self, value: KafkaRecord) -> bytes:
        return self._records.serialize(KafkaStreamRecord.of(self._origins.stream_of(value.topic or ""), value))

    def deserialize(self, version: int, data: bytes) -> KafkaRecord:
        return self._records.deserialize(version, data).kafka_record()
