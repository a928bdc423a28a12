"""Exactly once over two real brokers while a stream moves from one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from asyncsink import RetryPolicy, WriterInitContext
from asyncsink.transactions import Transaction
from asyncsink_dynamic_kafka.committer import DynamicKafkaCommitter
from asyncsink_dynamic_kafka.sink import DynamicKafkaSink
from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction
from asyncsink_dynamic_kafka.writer import DynamicKafkaWriter
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .harness import expected
from .test_mock_clusters import Streams, batch

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(240)]

TRANSACTION = Transaction("0123456789abcdef", 1)
PATIENT = replace(DynamicKafkaSink.defaults, retry=RetryPolicy(timeout_s=60.0))
IMPATIENT = replace(DynamicKafkaSink.defaults, retry=RetryPolicy(timeout_s=3.0))


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, KafkaBroker]]:
    with skipped_without_kafka(), KafkaBroker() as first, KafkaBroker() as second:
        yield {"A": first, "B": second}


def streams_in(folder: Path, stream_id: str, clusters: Mapping[str, KafkaBroker]) -> Streams:
    for each in clusters.values():
        each.create_topic(stream_id, 2)
    streams = Streams(folder, stream_id, clusters)
    streams.are_in("A", "B")
    return streams


async def follows(writer: DynamicKafkaWriter, names: set[str]) -> None:
    """Wait until the writer writes to these clusters."""
    while True:
        writer.reconcile_state()
        (state,) = writer.snapshot_state()
        known = {each.kafka_cluster_identifier.name for topics in state.stream_metadata_map.values() for each in topics}
        if known == names:
            return
        await anyio.sleep(0.02)


async def moved(sink: DynamicKafkaSink, streams: Streams) -> list[DynamicKafkaTransaction]:
    """Write 1000 rows to A and B, and amid these take A away."""
    async with sink.create_writer(WriterInitContext(transaction=TRANSACTION)) as writer:
        await writer.write_batch(batch(expected(range(500))))
        await writer.flush()
        await writer.write_batch(batch(expected(range(500, 700))))
        streams.are_in("B")
        await follows(writer, {"B"})
        await writer.write_batch(batch(expected(range(700, 1000))))
        return await writer.prepare_commit(True)


def union(streams: Streams) -> list[bytes]:
    return sorted(each or b"" for name in "AB" for each in streams.read(name))


def test_rows_are_there_once_although_a_cluster_goes_amid_a_batch(
    tmp_path: Path, clusters: Mapping[str, KafkaBroker]
) -> None:
    streams = streams_in(tmp_path, "moves", clusters)
    sink = streams.sink(delivery_guarantee="exactly-once", config=PATIENT)

    async def use() -> None:
        prepared = await moved(sink, streams)
        counts = {each.cluster.name: each.transaction.records for each in prepared}
        assert counts["A"] >= 250
        assert sum(counts.values()) == 1000
        committer = DynamicKafkaCommitter(sink)
        assert await committer.commit(prepared) == []
        await committer.aclose()

    anyio.run(use)
    assert union(streams) == expected(range(1000))


def test_what_a_dead_cluster_holds_is_committed_once_it_is_back(
    tmp_path: Path, clusters: Mapping[str, KafkaBroker]
) -> None:
    streams = streams_in(tmp_path, "returns", clusters)
    sink = streams.sink(delivery_guarantee="exactly-once", config=PATIENT)
    commits = streams.sink(delivery_guarantee="exactly-once", config=IMPATIENT)

    async def prepare() -> list[DynamicKafkaTransaction]:
        return await moved(sink, streams)

    async def commit(committables: list[DynamicKafkaTransaction], sink: DynamicKafkaSink) -> list[str]:
        committer = DynamicKafkaCommitter(sink)
        left = await committer.commit(committables)
        await committer.aclose()
        return [each.cluster.name for each in left]

    prepared = anyio.run(prepare)
    clusters["A"].kill()
    try:
        assert anyio.run(commit, prepared, commits) == ["A"]
        in_b = sum(each.transaction.records for each in prepared if each.cluster.name == "B")
        assert len(streams.read("B")) == in_b
    finally:
        clusters["A"].start()
    assert anyio.run(commit, [each for each in prepared if each.cluster.name == "A"], sink) == []
    assert union(streams) == expected(range(1000))
