"""A real broker that asks who is there, beside a cluster that does not: each is connected to by its own properties."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest

from asyncsink.errors import DeliveryError
from asyncsink_dynamic_kafka.sink import DynamicKafkaSink
from asyncsink_testing.kafka import KafkaBroker, MockCluster, Sasl
from asyncsink_testing.kafka.reading import TopicReader
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .harness import expected

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(120)]

PASSWORD, WRONG = "alice-pw", "nobodys-pw"


@pytest.fixture(scope="module")
def guarded() -> Iterator[KafkaBroker]:
    sasl = Sasl(mechanisms=("PLAIN",), users={"alice": PASSWORD})
    with skipped_without_kafka(), KafkaBroker(listeners=("SASL_PLAINTEXT",), sasl=sasl) as broker:
        broker.create_topic("orders", 2)
        yield broker


@pytest.fixture
def unguarded() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": 2}) as cluster:
        yield cluster


def login(password: str) -> Mapping[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="alice" password="{password}";',
    }


def sink_of(folder: Path, unguarded: MockCluster, guarded: KafkaBroker, password: str) -> DynamicKafkaSink:
    """To both clusters, of which the second has properties of its own."""
    servers = guarded.bootstrap_of("SASL_PLAINTEXT")
    clusters = {
        "open": {"bootstrapServers": unguarded.bootstrap, "topics": ["orders"]},
        "guarded": {"bootstrapServers": servers, "topics": ["orders"], "properties": login(password)},
    }
    path = folder / "streams.json"
    path.write_text(json.dumps({"version": 1, "streams": {"orders": {"clusters": clusters}}}))
    return DynamicKafkaSink(stream_ids=["orders"], metadata_service="file", metadata_service_path=str(path))


def stored(bootstrap: str) -> list[bytes | None]:
    reader = TopicReader(bootstrap, "orders")
    try:
        return [*reader.values()]
    finally:
        reader.close()


def test_a_cluster_that_refuses_the_password_is_named_and_no_password_is_shown(
    tmp_path: Path, unguarded: MockCluster, guarded: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "asyncsink_dynamic_kafka")

    async def use() -> None:
        async with sink_of(tmp_path, unguarded, guarded, WRONG).open() as writer:
            await writer.write_many(expected(range(100)))

    with pytest.raises(DeliveryError, match=r"^cluster 'guarded': .*SASL_AUTHENTICATION_FAILED.*check the") as caught:
        anyio.run(use)
    assert WRONG not in f"{caught.value!r} {caught.value.__cause__!r} {caplog.text}"


def test_credentials_of_one_cluster_are_not_those_of_another(
    tmp_path: Path, unguarded: MockCluster, guarded: KafkaBroker
) -> None:
    async def use() -> None:
        async with sink_of(tmp_path, unguarded, guarded, PASSWORD).open() as writer:
            await writer.write_many(expected(range(100)))
            (state,) = writer.snapshot_state()
            assert state.with_own_properties == {"guarded"}

    anyio.run(use)
    both = [stored(unguarded.bootstrap), stored(guarded.bootstrap)]
    assert [len(each) for each in both] == [50, 50]
    assert sorted(each or b"" for values in both for each in values) == expected(range(100))
