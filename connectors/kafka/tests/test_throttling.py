"""Quotas: a broker stores what it gets, and says for how long it wants nothing more (KIP-219)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from asyncsink_kafka import KafkaSink
from asyncsink_testing.faults import Fault, Step
from asyncsink_testing.kafka import KafkaBroker, KafkaDestinations, MockCluster
from asyncsink_testing.kafka.node import run_tool
from asyncsink_testing.kafka.reading import TopicReader
from asyncsink_testing.kafka.skipping import skipped_without_kafka

ROW = b"%0100d"
QUOTA = 100_000
"""Bytes in a second."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def throttling_broker() -> Iterator[KafkaBroker]:
    """Looks at the last second, and not at the last ten, for which a client may save its quota up."""
    with skipped_without_kafka(), KafkaBroker(properties={"quota.window.num": "2"}) as broker:
        yield broker


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.anyio
async def test_a_writer_pauses_for_as_long_as_a_broker_asks_and_counts_the_rows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with MockCluster() as cluster:
        async with KafkaDestinations(cluster)() as destination:
            destination.script([Step(Fault.OK, retry_after_s=0.5)])
            async with KafkaSink(bootstrap_servers=destination.endpoint, topic=destination.topic).open() as writer:
                await writer.write_many([ROW % number for number in range(10)])
                await writer.flush()
                await writer.write_many([ROW % number for number in range(10, 15)])
                await writer.flush()
                counted = writer.statistics()
            received = await destination.received()

    throttled, after = destination.requests
    assert after.started_s - throttled.started_s >= 0.5
    assert (counted.throttled_entries, counted.failed_requests, counted.retried_entries) == (10, 0, 0)
    assert [each.payload for each in received] == [ROW % number for number in range(15)]
    (warning,) = complaints(caplog)
    assert "a quota of the brokers throttles this client, for 0.500 s" in warning


@pytest.mark.anyio
@pytest.mark.kafka_service
@pytest.mark.timeout(120)
async def test_a_client_over_its_quota_is_slowed_down_and_loses_nothing(
    throttling_broker: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    rate = ["--alter", "--entity-type", "clients", "--entity-name", "thrifty", "--add-config"]
    server = ["--bootstrap-server", throttling_broker.bootstrap]
    run_tool("kafka.admin.ConfigCommand", *server, *rate, f"producer_byte_rate={QUOTA}")
    throttling_broker.create_topic("limited")
    rows = 5 * QUOTA // len(ROW % 0)
    sink = KafkaSink(
        bootstrap_servers=throttling_broker.bootstrap, topic="limited", client_id="thrifty", batch_size_in_bytes=10_000
    )
    async with sink.open() as writer:
        await writer.write_many([ROW % number for number in range(rows)])
        await writer.flush()
        counted = writer.statistics()

    reader = TopicReader(throttling_broker.bootstrap, "limited")
    try:
        assert reader.values() == [ROW % number for number in range(rows)]
    finally:
        reader.close()
    assert counted.throttled_entries > 0
    assert (counted.acknowledged, counted.failed_requests, counted.retried_entries) == (rows, 0, 0)
    (warning,) = complaints(caplog)
    assert "a quota of the brokers throttles this client" in warning
