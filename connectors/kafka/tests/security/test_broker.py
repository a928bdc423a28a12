"""TLS, SASL and the renewal of sessions, against Apache Kafka's own broker."""

from __future__ import annotations

import logging
import sys
import time
import types
from collections.abc import Iterator
from itertools import count
from typing import Any, Literal

import anyio
import pytest

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import FatalRequestError, RequestError
from asyncsink_kafka.client import connect
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.security import authentication_refusal, security_arguments, why_unreachable
from asyncsink_testing.kafka import KafkaBroker, Sasl, Tls
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .certificates import Certificates
from .jwts import unsigned
from .sending import PARTITIONS, send_for, stored

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]

SESSION_S = 3.0
USERS = {"alice": "alice-pw"}
PASSWORD = {"sasl_username": "alice", "sasl_password": "alice-pw"}

Protocol = Literal["SSL", "SASL_PLAINTEXT", "SASL_SSL"]

_numbers = count()


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[KafkaBroker]:
    """Asks everybody who comes by SASL for a new session every three seconds; wants no certificates of clients."""
    tls = Tls(certificate=certificates.broker, private_key=certificates.broker_key)
    sasl = Sasl(
        mechanisms=("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"), users=USERS, max_reauth_ms=round(SESSION_S * 1000)
    )
    with (
        skipped_without_kafka(),
        KafkaBroker(listeners=("SSL", "SASL_PLAINTEXT", "SASL_SSL"), tls=tls, sasl=sasl) as broker,
    ):
        yield broker


@pytest.fixture(scope="module")
def strict_broker(certificates: Certificates) -> Iterator[KafkaBroker]:
    """Wants the certificate of every client."""
    tls = Tls(
        certificate=certificates.broker,
        private_key=certificates.broker_key,
        authority=certificates.authority,
        client_auth="required",
    )
    with skipped_without_kafka(), KafkaBroker(listeners=("SSL",), tls=tls) as broker:
        yield broker


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"


@pytest.fixture
def tokens() -> Iterator[types.ModuleType]:
    """The module of a user, whose function ``token`` gives tokens of four seconds."""
    made = types.ModuleType("company_tokens")

    def token() -> tuple[str, float]:
        now = time.time()
        return unsigned(sub="alice", iat=now - 1, exp=now + 4), now + 4

    made.token = token  # type: ignore[attr-defined]
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def arguments(broker: KafkaBroker, protocol: Protocol, **given: Any) -> dict[str, Any]:
    return security_arguments(
        KafkaOptions(bootstrap_servers=broker.bootstrap_of(protocol), security_protocol=protocol, **given)
    )


async def why(broker: KafkaBroker, protocol: Protocol, **given: Any) -> RequestError | None:
    """What a refusal says, or None."""
    error = await why_unreachable(
        broker.bootstrap_of(protocol), arguments(broker, protocol, **given), client_id="test", timeout_s=10
    )
    return authentication_refusal(error)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    return [each for each in said if "in the clear" not in each]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
async def test_sessions_are_renewed_before_they_end_and_nobody_notices(
    broker: KafkaBroker, tokens: types.ModuleType, topic: str, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broker.create_topic(topic, PARTITIONS)
    who = {"sasl_token_provider": "company_tokens:token"} if mechanism == "OAUTHBEARER" else PASSWORD
    given = arguments(broker, "SASL_PLAINTEXT", sasl_mechanism=mechanism, **who)
    sent = await send_for(10.0, given, broker.bootstrap_of("SASL_PLAINTEXT"), topic)
    assert complaints(caplog) == []
    assert len([each for each in caplog.records if each.getMessage().startswith("Authenticated")]) >= 4
    assert min(sent) > 50
    for acknowledged, found in zip(sent, stored(broker.bootstrap, topic), strict=True):
        assert found[:acknowledged] == list(range(acknowledged))
        # The one that was under way when the time was over may be there too.
        assert len(found) - acknowledged in (0, 1)


async def test_a_broker_closes_the_connections_of_a_producer_that_does_not_renew(
    broker: KafkaBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic(topic, PARTITIONS)
    given = arguments(broker, "SASL_PLAINTEXT", sasl_mechanism="PLAIN", **PASSWORD)
    await send_for(SESSION_S + 1, given, broker.bootstrap_of("SASL_PLAINTEXT"), topic, renews=False)
    assert complaints(caplog)


async def test_an_idle_producer_goes_on_after_its_session_has_ended(
    broker: KafkaBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    from aiokafka import AIOKafkaProducer

    from asyncsink_kafka.security import keep_authenticated

    broker.create_topic(topic, PARTITIONS)
    given = arguments(broker, "SASL_PLAINTEXT", sasl_mechanism="PLAIN", **PASSWORD)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_of("SASL_PLAINTEXT"), **given) as producer:
        keep_authenticated(producer)
        await producer.send_and_wait(topic, b"0", partition=0)
        await anyio.sleep(SESSION_S + 0.5)
        await producer.send_and_wait(topic, b"1", partition=0)
    assert complaints(caplog) == []
    assert stored(broker.bootstrap, topic)[0] == [0, 1]


async def test_sasl_goes_over_tls(broker: KafkaBroker, certificates: Certificates, topic: str) -> None:
    broker.create_topic(topic, PARTITIONS)
    given = arguments(
        broker,
        "SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        ssl_truststore_location=str(certificates.authority),
        **PASSWORD,
    )
    assert min(await send_for(1.0, given, broker.bootstrap_of("SASL_SSL"), topic)) > 0


async def test_tls_needs_no_more_than_the_brokers_authority(
    broker: KafkaBroker, certificates: Certificates, topic: str
) -> None:
    broker.create_topic(topic, PARTITIONS)
    given = arguments(broker, "SSL", ssl_truststore_certificates=certificates.authority.read_text())
    assert min(await send_for(1.0, given, broker.bootstrap_of("SSL"), topic)) > 0


async def test_a_broker_that_is_not_trusted_is_told_with_the_remedy(broker: KafkaBroker) -> None:
    refusal = await why(broker, "SSL")
    assert refusal is not None
    assert refusal.code == "SSL_AUTHENTICATION_FAILED"
    assert "certificate is not trusted" in refusal.message
    assert "sslTruststoreLocation" in refusal.message


async def test_a_client_shows_its_certificate(
    strict_broker: KafkaBroker, certificates: Certificates, topic: str
) -> None:
    strict_broker.create_topic(topic, PARTITIONS)
    given = arguments(
        strict_broker,
        "SSL",
        ssl_truststore_location=str(certificates.authority),
        ssl_keystore_location=str(certificates.client),
    )
    assert min(await send_for(1.0, given, strict_broker.bootstrap_of("SSL"), topic)) > 0


async def test_a_client_without_a_certificate_is_told_that_one_is_wanted(
    strict_broker: KafkaBroker, certificates: Certificates
) -> None:
    refusal = await why(strict_broker, "SSL", ssl_truststore_location=str(certificates.authority))
    assert refusal is not None
    assert refusal.code == "SSL_AUTHENTICATION_FAILED"
    assert "wants another client certificate" in refusal.message
    assert "sslKeystoreLocation" in refusal.message


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_wrong_password_is_told_in_the_brokers_words(broker: KafkaBroker, mechanism: str) -> None:
    refusal = await why(
        broker, "SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_username="alice", sasl_password="s3cr3t"
    )
    assert refusal is not None
    assert refusal.code == "SASL_AUTHENTICATION_FAILED"
    assert "Authentication failed" in refusal.message
    assert "check the user name, the password" in refusal.message
    assert "s3cr3t" not in str(refusal)


async def test_a_refused_token_is_told_and_not_taken_for_a_broken_connection(
    broker: KafkaBroker, tokens: types.ModuleType
) -> None:
    tokens.token = lambda: unsigned(sub="alice", iat=1, exp=2)  # type: ignore[attr-defined]
    refusal = await why(
        broker, "SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", sasl_token_provider="company_tokens:token"
    )
    assert refusal is not None
    assert refusal.code == "SASL_AUTHENTICATION_FAILED"
    assert "refuses the OAUTHBEARER token with status 'invalid_token'" in refusal.message


async def test_a_mechanism_that_is_not_enabled_is_told_with_those_that_are(broker: KafkaBroker) -> None:
    refusal = await why(broker, "SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-256", **PASSWORD)
    assert refusal is not None
    assert refusal.code == "UNSUPPORTED_SASL_MECHANISM"
    assert "SCRAM-SHA-512" in refusal.message


async def test_a_wrong_password_ends_the_writers_client_at_once(broker: KafkaBroker) -> None:
    options = KafkaOptions(
        bootstrap_servers=broker.bootstrap_of("SASL_PLAINTEXT"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password="s3cr3t",
    )
    config = AsyncSinkWriterConfig()
    # Far from the time for which an outage would be waited for.
    with anyio.fail_after(config.retry.timeout_s / 4):
        with pytest.raises(FatalRequestError, match=r"SASL_AUTHENTICATION_FAILED.*Authentication failed") as caught:
            async with connect(options, config):
                pass
    assert "s3cr3t" not in str(caught.value)
