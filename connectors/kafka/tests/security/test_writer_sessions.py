"""A writer whose sessions end under it, and one that shows a certificate: over TLS, on Apache Kafka's own broker."""

from __future__ import annotations

import logging
import sys
import time
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import anyio
import pytest

from asyncsink_kafka import KafkaSink
from asyncsink_testing.kafka import KafkaBroker, Sasl, Tls
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .certificates import Certificates
from .jwts import unsigned
from .sending import PARTITIONS, stored

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]

SESSION_S = 3.0
WRITING_S = 3.5 * SESSION_S


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[KafkaBroker]:
    """Wants a new session every three seconds by SASL, and without SASL the client's certificate."""
    tls = Tls(
        certificate=certificates.broker,
        private_key=certificates.broker_key,
        authority=certificates.authority,
        client_auth="required",
    )
    sasl = Sasl(
        mechanisms=("SCRAM-SHA-512", "OAUTHBEARER"), users={"alice": "alice-pw"}, max_reauth_ms=round(SESSION_S * 1000)
    )
    with skipped_without_kafka(), KafkaBroker(listeners=("SSL", "SASL_SSL"), tls=tls, sasl=sasl) as started:
        yield started


@pytest.fixture
def token_provider() -> Iterator[str]:
    """The import path of a user's function, whose tokens outlive the test: it is the broker that ends sessions."""
    module = types.ModuleType("writers_tokens")
    now_s = time.time()
    module.token = lambda: (unsigned(sub="alice", iat=now_s - 1, exp=now_s + 600), now_s + 600)  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield f"{module.__name__}:token"
    del sys.modules[module.__name__]


async def write_for(
    seconds: float, broker: KafkaBroker, protocol: Literal["SSL", "SASL_SSL"], topic: str, options: Mapping[str, Any]
) -> int:
    """Write 0, 1, 2, ... to the partitions in turn and flush after each round; returns how many."""
    sink = KafkaSink(
        bootstrap_servers=broker.bootstrap_of(protocol),
        topic=topic,
        partitioner="round-robin",
        security_protocol=protocol,
        **options,
    )
    written = 0
    async with sink.open() as writer:
        ends_s = anyio.current_time() + seconds
        while anyio.current_time() < ends_s:
            await writer.write_many([b"%d" % number for number in range(written, written + PARTITIONS)])
            await writer.flush()
            written += PARTITIONS
        counted = writer.statistics()
    assert (counted.acknowledged, counted.failed_requests, counted.retried_entries) == (written, 0, 0)
    return written


def assert_all_is_stored_once_in_order(broker: KafkaBroker, topic: str, written: int) -> None:
    found = stored(broker.bootstrap, topic)
    assert sorted(number for each in found for number in each) == list(range(written))
    assert [sorted(each) for each in found] == found


def told(caplog: pytest.LogCaptureFixture, least: int) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= least]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
async def test_a_writer_renews_its_sessions_before_they_end(
    broker: KafkaBroker,
    certificates: Certificates,
    token_provider: str,
    mechanism: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    topic = f"sessions-{mechanism}"
    broker.create_topic(topic, PARTITIONS)
    options = {"sasl_mechanism": mechanism, "ssl_truststore_location": str(certificates.authority)}
    if mechanism == "OAUTHBEARER":
        options["sasl_token_provider"] = token_provider
    else:
        options |= {"sasl_username": "alice", "sasl_password": "alice-pw"}
    written = await write_for(WRITING_S, broker, "SASL_SSL", topic, options)

    assert told(caplog, logging.WARNING) == []
    assert len([each for each in told(caplog, logging.INFO) if each.startswith("Authenticated")]) >= 4
    assert_all_is_stored_once_in_order(broker, topic, written)


async def test_a_writer_shows_its_certificate(
    broker: KafkaBroker, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic("certified", PARTITIONS)
    options = {
        "ssl_truststore_location": str(certificates.authority),
        "ssl_keystore_location": str(certificates.client),
    }
    written = await write_for(1.0, broker, "SSL", "certified", options)

    assert told(caplog, logging.WARNING) == []
    assert_all_is_stored_once_in_order(broker, "certified", written)
