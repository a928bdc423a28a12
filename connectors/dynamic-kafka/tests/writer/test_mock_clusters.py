"""Through aiokafka to two clusters of librdkafka's, one of which goes away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink.metrics import Metrics
from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.serializer import KafkaStreamRecordSerializer
from asyncsink_dynamic_kafka.sink import DynamicKafkaSink
from asyncsink_testing.kafka import KafkaBroker, MockCluster
from asyncsink_testing.kafka.reading import TopicReader

from .harness import expected


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, MockCluster]]:
    topics = dict.fromkeys(("moves", "stays", "stream1"), 2)
    with MockCluster(topics=topics) as first, MockCluster(topics=topics) as second:
        yield {"A": first, "B": second}


class Streams:
    """A metadata file of one stream, whose topic has the same name everywhere."""

    def __init__(self, folder: Path, stream_id: str, clusters: Mapping[str, MockCluster | KafkaBroker]) -> None:
        self._path, self.stream_id, self._clusters = folder / "streams.json", stream_id, clusters

    def are_in(self, *names: str) -> None:
        """From now on the stream is in these clusters."""
        found = {
            name: {"bootstrapServers": self._clusters[name].bootstrap, "topics": [self.stream_id]} for name in names
        }
        self._path.write_text(json.dumps({"version": 1, "streams": {self.stream_id: {"clusters": found}}}))

    def sink(self, **options: Any) -> DynamicKafkaSink:
        return DynamicKafkaSink(
            stream_ids=[self.stream_id],
            metadata_service="file",
            metadata_service_path=str(self._path),
            **{"stream_metadata_discovery_interval_s": 0.05, **options},
        )

    def read(self, name: str) -> list[bytes | None]:
        reader = TopicReader(self._clusters[name].bootstrap, self.stream_id)
        try:
            return [*reader.values()]
        finally:
            reader.close()


def batch(values: Sequence[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"value": values})


def test_a_stream_moves_away_from_a_cluster_that_dies_and_loses_nothing(
    tmp_path: Path, clusters: Mapping[str, MockCluster]
) -> None:
    streams = Streams(tmp_path, "moves", clusters)
    streams.are_in("A")

    async def use() -> None:
        async with streams.sink(removed_cluster_timeout_s=1.0).open() as writer:
            await writer.write_batch(batch(expected(range(1000))))
            await writer.flush()
            clusters["A"].stop_broker(1)
            await writer.write_batch(batch(expected(range(1000, 2000))))
            streams.are_in("B")
            await writer.write_batch(batch(expected(range(2000, 3000))))
            await writer.flush()
            told = writer.statistics()
            assert (told.accepted, told.acknowledged, told.unacknowledged) == (3000, 3000, 0)

    try:
        anyio.run(use)
    finally:
        clusters["A"].start_broker(1)
    assert {*streams.read("A"), *streams.read("B")} >= {*expected(range(3000))}
    assert {*streams.read("B")} >= {*expected(range(1000, 3000))}


def test_each_cluster_tells_of_itself_and_the_writer_of_all(
    tmp_path: Path, clusters: Mapping[str, MockCluster]
) -> None:
    streams, metrics = Streams(tmp_path, "stays", clusters), Metrics()
    streams.are_in("A", "B")

    async def use() -> Mapping[str, Any]:
        async with streams.sink().open(metric_group=metrics.group) as writer:
            await writer.write_batch(batch(expected(range(100))))
            await writer.flush()
            return metrics.snapshot()

    told = anyio.run(use)
    assert told["numRecordsAcknowledged"] == 100
    assert told["cluster.A.numRecordsAcknowledged"] == told["cluster.B.numRecordsAcknowledged"] == 50
    assert told["numRecordsOut"] == told["numRecordsSend"] == 100
    assert told["numBytesOut"] == told["cluster.A.numBytesOut"] + told["cluster.B.numBytesOut"] > 0
    assert told["numActiveClusters"] == 2
    assert told["metadataAgeSeconds"] >= 0


class LongKafkaStreamRecordSerializer(KafkaStreamRecordSerializer[int]):
    """Writes numbers as eight bytes, as the one in FLIP-515's example."""

    def __init__(self, stream_id: str) -> None:
        self.stream_id = stream_id

    def serialize(self, element: int, timestamp: int | None) -> KafkaStreamRecord:
        return KafkaStreamRecord(self.stream_id, element.to_bytes(8, "big"))


def test_the_example_of_the_proposal_delivers_by_flush(tmp_path: Path, clusters: Mapping[str, MockCluster]) -> None:
    streams = Streams(tmp_path, "stream1", clusters)
    streams.are_in("A", "B")
    sink = (
        DynamicKafkaSink.builder()
        .set_subscribed_stream_ids({"stream1"})
        .set_kafka_metadata_service(FileMetadataService(str(tmp_path / "streams.json")))
        .set_kafka_stream_record_serializer(LongKafkaStreamRecordSerializer("stream1"))
        .set_property("stream-metadata-discovery-interval-ms", "1")
        .set_property("linger.ms", "100000")
        .build()
    )

    async def use() -> None:
        async with sink.open() as writer:
            for number in range(100):
                await writer.write(number)
            assert writer.statistics().acknowledged == 0
            await writer.flush()
            assert writer.statistics().acknowledged == 100

    anyio.run(use)
    stored = [*streams.read("A"), *streams.read("B")]
    assert sorted(int.from_bytes(each or b"", "big") for each in stored) == [*range(100)]
