"""The topics of one cluster as streams, on a mock cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import anyio
import pytest

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka import MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.discovery import discovering
from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService
from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSetSubscriber, StreamPatternSubscriber
from asyncsink_testing.kafka import MockCluster

SECRET = "hunter2"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


def service_of(cluster: MockCluster, **properties: str) -> SingleClusterTopicMetadataService:
    given = {"bootstrap.servers": cluster.bootstrap, **properties}
    made: SingleClusterTopicMetadataService = pickle.loads(pickle.dumps(SingleClusterTopicMetadataService("A", given)))
    return made


def test_every_topic_is_a_stream(cluster: MockCluster) -> None:
    cluster.create_topic("one", 1)
    cluster.create_topic("two", 3)
    service = service_of(cluster, acks="0")

    async def asks() -> None:
        assert {"one", "two"} <= {stream.stream_id for stream in await service.get_all_streams()}
        found = await service.describe_streams(["two", "three"])
        assert found.keys() == {"two"}
        metadata = found["two"].cluster_metadata_map["A"]
        assert metadata.topics == {"two"}
        assert metadata.properties == {"bootstrap.servers": cluster.bootstrap, "acks": "0"}
        assert [await service.is_cluster_active(name) for name in "AB"] == [True, False]
        await service.aclose()

    anyio.run(asks)


def test_a_topic_that_is_created_joins_a_pattern(cluster: MockCluster) -> None:
    cluster.create_topic("visits-de", 1)

    async def joins() -> None:
        subscriber = StreamPatternSubscriber("visits-.*")
        async with (
            discovering(service_of(cluster), subscriber, interval_s=0.01) as discovery,
            anyio.create_task_group() as group,
        ):
            assert (await discovery.ready()).streams.keys() == {"visits-de"}
            group.start_soon(discovery.run)
            cluster.create_topic("visits-fr", 1)
            with anyio.fail_after(30):
                await discovery.changed(1)
            assert discovery.current is not None
            assert discovery.current.streams.keys() == {"visits-de", "visits-fr"}
            group.cancel_scope.cancel()

    anyio.run(joins)


def test_brokers_that_cannot_be_reached_are_told_with_the_reason() -> None:
    given = {"bootstrap.servers": "127.0.0.1:1", "delivery.timeout.ms": "200", "request.timeout.ms": "100"}

    async def starts() -> None:
        service = SingleClusterTopicMetadataService("A", given)
        async with discovering(service, KafkaStreamSetSubscriber(frozenset({"orders"}))) as discovery:
            with pytest.raises(MetadataUnavailableError, match=r"127\.0\.0\.1:1 could not be reached within"):
                await discovery.ready()

    anyio.run(starts)


def test_properties_that_nobody_knows_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"kafka\.no\.such"):
        SingleClusterTopicMetadataService("A", {"bootstrap.servers": "a:1", "no.such": SECRET})


def test_values_of_properties_are_not_shown() -> None:
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{SECRET}";'
    given = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    service = SingleClusterTopicMetadataService("A", {**given, "sasl.jaas.config": jaas})
    assert SECRET not in repr(service)
    assert "sasl.jaas.config" in repr(service)
