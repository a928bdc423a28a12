"""One record as it is written to a stream, whatever cluster and topic it will go to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_kafka.record import KafkaRecord, KafkaRecordSerializer


@dataclass(frozen=True, slots=True)
class KafkaStreamRecord:
    """A Kafka record, and the stream that it belongs to (FLIP-515).

    :param stream_id: the logical stream; a router chooses among its cluster topics
    :param value: None is a tombstone where the topic is compacted
    :param key: decides the partition, and with the router ``sticky`` the cluster topic
    :param headers: names and values in order; a name may come twice
    :param timestamp: ms since the epoch; None for the time at which it is sent
    :param partition: None for the partitioner's choice; with a number every topic of the stream must have it
    """

    stream_id: str
    value: bytes | None = None
    key: bytes | None = None
    headers: tuple[tuple[str | None, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int | None = None

    topic: ClassVar[None] = None
    """As a record of Kafka that leaves it to the sink."""

    @classmethod
    def of(cls, stream_id: str, record: KafkaRecord) -> Self:
        """A record of Kafka that belongs to a stream; its topic does not count."""
        return cls(stream_id, record.value, record.key, record.headers, record.timestamp, record.partition)

    def kafka_record(self, topic: str | None = None) -> KafkaRecord:
        """What goes to a cluster, once its topic is known."""
        return KafkaRecord(
            value=self.value,
            key=self.key,
            topic=topic,
            headers=self.headers,
            partition=self.partition,
            timestamp=self.timestamp,
        )


class StreamRecordBytes(SimpleVersionedSerializer[KafkaStreamRecord | KafkaRecord]):
    """The bytes of a record of Kafka with the stream in the place of the topic.

    One that was rejected since it names no stream is a record of Kafka still, and comes back with an empty stream id.
    """

    version = 1

    _records = KafkaRecordSerializer()

    def serialize(self, value: KafkaStreamRecord | KafkaRecord) -> bytes:
        return self._records.serialize(value if isinstance(value, KafkaRecord) else value.kafka_record(value.stream_id))

    def deserialize(self, version: int, data: bytes) -> KafkaStreamRecord:
        self._check_version(version)
        found = self._records.deserialize(version, data)
        return KafkaStreamRecord.of(found.topic or "", found)
