"""Refusals that no retry mends, told apart from outages."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import errors
from aiokafka.abc import AbstractTokenProvider

from asyncsink_kafka.security import REFUSAL_CODES, authentication_refusal, why_unreachable
from asyncsink_kafka.security.tokens import TokenRefusedError, TokenUnavailableError

from .scripted_broker import ScriptedBroker, scripted_broker, until

pytestmark = pytest.mark.anyio

PLAIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "alice",
    "sasl_plain_password": "s3cr3t",
}


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no annotations
    async def token(self) -> str:
        return "s3cr3t"


BEARER = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauth_token_provider": Tokens(),
}


@pytest.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    async with scripted_broker() as broker:
        yield broker


async def said(servers: str, security: dict[str, Any]) -> tuple[str, str] | None:
    refusal = authentication_refusal(await why_unreachable(servers, security, client_id="test", timeout_s=5))
    return None if refusal is None else (refusal.code, refusal.message)


def at(broker: ScriptedBroker) -> str:
    return f"127.0.0.1:{broker.port}"


async def test_a_broker_that_lets_us_in_has_no_reason(broker: ScriptedBroker) -> None:
    assert await why_unreachable(at(broker), PLAIN, client_id="test", timeout_s=5) is None
    await until(lambda: broker.open_connections == 0)


async def test_a_refused_password_has_the_brokers_words_and_a_remedy(broker: ScriptedBroker) -> None:
    broker.refusal = 58
    assert await said(at(broker), PLAIN) == (
        "SASL_AUTHENTICATION_FAILED",
        "the broker's words; check the user name, the password or the token, and that the broker knows them",
    )


async def test_a_refused_token_is_told_by_its_status(broker: ScriptedBroker) -> None:
    broker.challenge = b'{"status":"invalid_token"}'
    found = await said(at(broker), BEARER)
    assert found is not None
    assert found[1].startswith("the broker refuses the OAUTHBEARER token with status 'invalid_token'; check")


@pytest.mark.parametrize("challenge", [b"\xff", b"[]", b"{}"])
async def test_a_refused_token_is_told_without_a_status_too(broker: ScriptedBroker, challenge: bytes) -> None:
    broker.challenge = challenge
    found = await said(at(broker), BEARER)
    assert found is not None
    assert found[1].startswith("the broker refuses the OAUTHBEARER token; check")


async def test_an_answer_that_is_none_of_the_mechanism_is_a_refusal_and_no_crash(broker: ScriptedBroker) -> None:
    broker.challenge = b"what?"
    found = await said(at(broker), PLAIN)
    assert found is not None
    assert f"the answer of 127.0.0.1:{broker.port} is none of PLAIN (AssertionError)" in found[1]


async def test_a_mechanism_that_is_not_enabled_is_told_with_those_that_are(broker: ScriptedBroker) -> None:
    broker.mechanisms = ("SCRAM-SHA-512", "GSSAPI")
    found = await said(at(broker), PLAIN)
    assert found is not None
    assert found[0] == "UNSUPPORTED_SASL_MECHANISM"
    assert found[1].startswith("the broker has not enabled PLAIN, but SCRAM-SHA-512, GSSAPI; set saslMechanism")


async def test_a_refusal_is_worth_more_than_a_dead_host(broker: ScriptedBroker) -> None:
    broker.refusal = 58
    found = await said(f"127.0.0.1:1,{at(broker)}", PLAIN)
    assert found is not None
    assert found[0] == "SASL_AUTHENTICATION_FAILED"


async def test_a_dead_host_is_an_outage() -> None:
    error = await why_unreachable("127.0.0.1:1", PLAIN, client_id="test", timeout_s=5)
    assert isinstance(error, ConnectionRefusedError)
    assert authentication_refusal(error) is None


@pytest.mark.parametrize("error", [None, errors.KafkaConnectionError("x"), TokenUnavailableError("x"), TimeoutError()])
def test_what_time_may_mend_is_no_refusal(error: Exception | None) -> None:
    assert authentication_refusal(error) is None


def test_a_provider_that_refuses_has_its_own_remedy() -> None:
    refusal = authentication_refusal(TokenRefusedError("no credentials; give some"))
    assert refusal is not None
    assert refusal.message == "no credentials; give some"


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("CERTIFICATE_VERIFY_FAILED", "the broker's certificate is not trusted"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "the broker wants another client certificate"),
        ("WRONG_VERSION_NUMBER", "the broker's answer is no TLS"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "the broker speaks no TLS version or cipher suite"),
    ],
)
def test_a_failed_handshake_is_found_among_the_causes(reason: str, sentence: str) -> None:
    cause = ssl.SSLError(1, "said")
    cause.reason = reason
    error = errors.KafkaConnectionError("closed")
    error.__cause__ = cause
    refusal = authentication_refusal(error)
    assert refusal is not None
    assert refusal.code in REFUSAL_CODES
    assert refusal.message.startswith(sentence)
    assert reason in refusal.message


def test_other_trouble_of_tls_is_no_refusal() -> None:
    error = ssl.SSLError(1, "said")
    error.reason = "UNEXPECTED_EOF_WHILE_READING"
    assert authentication_refusal(error) is None


async def test_nobody_is_asked_where_aiokafka_lacks_what_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("aiokafka.conn.collect_hosts")
    assert await why_unreachable("127.0.0.1:1", PLAIN, client_id="test", timeout_s=5) is None
