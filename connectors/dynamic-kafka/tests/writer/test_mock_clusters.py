"""Through aiokafka to two clusters of librdkafka's, one of which goes away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pytest

from asyncsink import WriterInitContext
from asyncsink.metrics import Metrics
from asyncsink.spark.clients import WorkerClients
from asyncsink_dynamic_kafka.sink import DynamicKafkaSink
from asyncsink_testing.kafka import MockCluster
from asyncsink_testing.kafka.reading import TopicReader

from .harness import expected


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, MockCluster]]:
    topics = {each: 2 for each in ("moves", "stays", "builder", "leased")}
    with MockCluster(topics=topics) as first, MockCluster(topics=topics) as second:
        yield {"A": first, "B": second}


class Streams:
    """A metadata file of one stream, whose topic has the same name everywhere."""

    def __init__(self, folder: Path, stream_id: str, clusters: Mapping[str, MockCluster]) -> None:
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
    assert told["numActiveClusters"] == 2
    assert told["metadataAgeSeconds"] >= 0


def test_clients_and_discovery_are_kept_over_micro_batches(tmp_path: Path, clusters: Mapping[str, MockCluster]) -> None:
    streams = Streams(tmp_path, "leased", clusters)
    streams.are_in("A", "B")

    async def use() -> list[str]:
        async with anyio.create_task_group() as group:
            clients = WorkerClients(group)
            for batch_id in range(3):
                sink = streams.sink()
                context = WriterInitContext(query_id="q", batch_id=batch_id, clients=clients)
                async with sink.create_writer(context) as writer:
                    await writer.write_batch(batch(expected(range(10 * batch_id, 10 * batch_id + 10))))
            kept = sorted(clients._keepers)
            group.cancel_scope.cancel()
        return kept

    kept = anyio.run(use)
    assert [each.rpartition("/")[2] for each in kept] == ["A", "B", "metadata"]
    assert sorted([*streams.read("A"), *streams.read("B")], key=lambda each: each or b"") == expected(range(30))
