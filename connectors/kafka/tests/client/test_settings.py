from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import aiokafka.codec
import pytest
from aiokafka import AIOKafkaProducer

from asyncsink.config import RetryPolicy
from asyncsink_kafka.client import settings
from asyncsink_kafka.client.publicly import PublicHandover
from asyncsink_kafka.client.settings import producer_arguments

from .batches import batch_of, config_of, options_for

pytestmark = pytest.mark.anyio


async def arguments(compresses: bool = False, request_timeout_s: float = 5.0, **options: Any) -> dict[str, Any]:
    config = config_of(
        request_timeout_s=request_timeout_s,
        stall_timeout_s=None,
        max_record_size_in_bytes=1000,
        max_batch_size_in_bytes=2000,
        retry=RetryPolicy(timeout_s=9.0, initial_backoff_s=0.25),
    )
    return await producer_arguments(options_for("a:1,b:2", **options), config, compresses=compresses)


async def test_the_settings_of_the_writer_and_of_the_connector_arrive() -> None:
    given = await arguments(client_id="me", metadata_max_age_s=7.0, connections_max_idle_s=8.0)
    assert given == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "me",
        "acks": "all",
        "enable_idempotence": True,
        "request_timeout_ms": 5000,
        "retry_backoff_ms": 250,
        "metadata_max_age_ms": 7000,
        "connections_max_idle_ms": 8000,
        "linger_ms": 0,
        "security_protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("options", "acks", "idempotent"),
    [
        ({}, "all", True),
        ({"enable_idempotence": False}, "all", False),
        ({"acks": "1"}, 1, False),
        ({"acks": "0", "delivery_guarantee": "none"}, 0, False),
    ],
)
async def test_a_producer_is_idempotent_wherever_acks_allow(
    options: dict[str, Any], acks: str | int, idempotent: bool
) -> None:
    given = await arguments(**options)
    assert (given["acks"], given["enable_idempotence"]) == (acks, idempotent)


async def test_infinity_is_as_long_as_the_field_allows_or_no_limit() -> None:
    given = await arguments(request_timeout_s=inf, connections_max_idle_s=inf)
    assert given["request_timeout_ms"] == 2**31 - 1
    assert given["connections_max_idle_ms"] is None


async def test_aiokafka_compresses_only_what_it_builds_again() -> None:
    given = await arguments(compresses=True, compression="zstd", batch_size_in_bytes=5000)
    assert (given["compression_type"], given["max_batch_size"]) == ("zstd", 5001)
    assert "compression_type" not in await arguments(compression="zstd")


async def test_a_batch_that_is_exactly_full_can_be_built_again() -> None:
    batch = batch_of(["x" * 1000] * 3)
    producer = AIOKafkaProducer(**await arguments(compresses=True, batch_size_in_bytes=batch.size_in_bytes))
    builder = PublicHandover(idempotent=True).builder(producer, ("t", 0), batch)
    await producer.stop()
    assert (builder.record_count(), builder.size()) == (3, batch.size_in_bytes)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """What has been warned of; whatever was warned of before is forgotten."""
    settings._warn.cache_clear()
    yield lambda: [each.getMessage() for each in caplog.records]
    settings._warn.cache_clear()


@pytest.mark.parametrize("name", ["snappy", "lz4", "zstd"])
async def test_without_its_library_aiokafka_sends_uncompressed_and_that_is_said_once(
    name: str, monkeypatch: pytest.MonkeyPatch, warnings: Callable[[], list[str]]
) -> None:
    monkeypatch.setattr(aiokafka.codec, "cramjam", None)
    for _ in range(2):
        given = await arguments(compresses=True, compression=name)
        assert given["compression_type"] is None
    await AIOKafkaProducer(**given).stop()
    (warning,) = warnings()
    assert f"sent uncompressed: the installed aiokafka has no library for {name}; install cramjam" in warning


async def test_a_level_that_aiokafka_leaves_out_is_said_once(warnings: Callable[[], list[str]]) -> None:
    for _ in range(2):
        assert (await arguments(compresses=True, compression="gzip", compression_level=1))["compression_type"] == "gzip"
    (warning,) = warnings()
    assert "compressionLevel = 1 has no effect" in warning


async def test_nothing_is_said_of_compression_where_all_is_as_asked(warnings: Callable[[], list[str]]) -> None:
    await arguments(compresses=True, compression="gzip")
    await arguments(compression="zstd", compression_level=3)
    assert warnings() == []


async def test_a_listener_with_tls_gets_a_context() -> None:
    given = await arguments(security_protocol="SSL")
    assert given["ssl_context"].check_hostname
