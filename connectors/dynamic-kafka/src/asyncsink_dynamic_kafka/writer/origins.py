"""Of which stream a record was that a cluster has not taken: its batch knows topic and sequence only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_dynamic_kafka.record import KafkaStreamRecord, StreamRecordBytes
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records


class Origins:
    """The streams of what one cluster was given. As a rule a topic belongs to one stream, and nothing is remembered."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._others: dict[tuple[str, int], str] = {}
        """The stream of a record, by topic and sequence, where it is not the first of that topic."""

    def note(self, topic: str, block: StreamBlock) -> None:
        """These records were routed to the topic."""
        for stream_id, rows in block.rows_by_stream():
            if self._first.setdefault(topic, stream_id) != stream_id:
                for sequence in block.records.sequence[rows].tolist():
                    self._others[topic, sequence] = stream_id

    def stream_of(self, topic: str) -> str:
        """The stream that a topic belongs to, or the first of several."""
        return self._first[topic]

    def forget(self) -> None:
        """All that was noted is stored or given up."""
        self._others.clear()

    def block(self, records: Records) -> StreamBlock:
        """Records of this cluster, each with a topic, as they were before they were routed."""
        assert records.topic is not None
        topics = records.topic.to_pylist()
        found = [
            self._others.get((topic, sequence)) or self._first[topic]
            for topic, sequence in zip(topics, records.sequence.tolist(), strict=True)
        ]
        places: dict[str, int] = {}
        stream_of = np.fromiter((places.setdefault(each, len(places)) for each in found), np.int32, len(found))
        return StreamBlock(streams=tuple(places), stream_of=stream_of, records=replace(records, topic=None))


class CopyBytes(SimpleVersionedSerializer[KafkaRecord]):
    """The bytes, in a dead letter, of a record that a cluster has refused: those of a record of its stream."""

    version = StreamRecordBytes.version

    def __init__(self, origins: Origins) -> None:
        self._origins, self._records = origins, StreamRecordBytes()

    def serialize(self, value: KafkaRecord) -> bytes:
        return self._records.serialize(KafkaStreamRecord.of(self._origins.stream_of(value.topic or ""), value))

    def deserialize(self, version: int, data: bytes) -> KafkaRecord:
        return self._records.deserialize(version, data).kafka_record()
