"""What AIOKafkaProducer is given for each protocol and mechanism."""

from __future__ import annotations

import logging
import ssl
import sys
from typing import Any

import pytest
from aiokafka.abc import AbstractTokenProvider

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.security import security_arguments, why_unreachable

from .scripted_broker import scripted_broker


def arguments(**given: Any) -> dict[str, Any]:
    return security_arguments(KafkaOptions(bootstrap_servers="127.0.0.1:9092", topic="t", **given))


def test_plaintext_needs_nothing() -> None:
    assert arguments() == {"security_protocol": "PLAINTEXT"}


def test_ssl_has_a_context() -> None:
    found = arguments(security_protocol="SSL")
    assert isinstance(found.pop("ssl_context"), ssl.SSLContext)
    assert found == {"security_protocol": "SSL"}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password_go_to_their_mechanism(mechanism: str) -> None:
    found = arguments(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_username="me", sasl_password="pw"
    )
    assert found == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "me",
        "sasl_plain_password": "pw",
    }


@pytest.mark.parametrize(
    "given",
    [
        {"sasl_mechanism": "AWS_MSK_IAM", "aws_region": "eu-west-1"},
        {
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": "https://login.example.com/token",
            "sasl_oauthbearer_client_id": "me",
            "sasl_oauthbearer_client_secret": "pw",
        },
        {"sasl_mechanism": "OAUTHBEARER", "sasl_token_provider": "os:getcwd"},
    ],
)
def test_whatever_has_tokens_is_a_provider_of_oauthbearer(given: dict[str, Any]) -> None:
    found = arguments(security_protocol="SASL_SSL", **given)
    assert found["sasl_mechanism"] == "OAUTHBEARER"
    assert isinstance(found["sasl_oauth_token_provider"], AbstractTokenProvider)
    assert isinstance(found["ssl_context"], ssl.SSLContext)


def test_kerberos_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asyncsink_kafka.security.arguments.find_spec", lambda name: name == "gssapi")
    found = arguments(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="GSSAPI",
        sasl_kerberos_service_name="broker",
        sasl_kerberos_domain_name="example.com",
    )
    assert found == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "broker",
        "sasl_kerberos_domain_name": "example.com",
    }


def test_kerberos_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asyncsink_kafka.security.arguments.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'asyncsink-kafka\[gssapi\]'"):
        arguments(security_protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI")


def test_msk_iam_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "asyncsink_kafka.security.msk_iam", raising=False)
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'asyncsink-kafka\[msk-iam\]'"):
        arguments(security_protocol="SASL_SSL", sasl_mechanism="AWS_MSK_IAM", aws_region="eu-west-1")


@pytest.mark.anyio
async def test_passwords_do_not_come_into_aiokafkas_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with scripted_broker() as broker:
        given = arguments(
            security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_username="me", sasl_password="s3cr3t"
        )
        servers = f"127.0.0.1:{broker.port}"
        assert await why_unreachable(servers, given, client_id="test", timeout_s=5) is None
    assert "SaslAuthenticateRequest_v1(***)" in caplog.text
    assert "s3cr3t" not in caplog.text
