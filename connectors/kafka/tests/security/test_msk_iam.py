"""Tokens of IAM for Amazon MSK."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import botocore.auth
import pytest
from botocore.credentials import Credentials

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.security.msk_iam import MskIam, region_of, signed_token
from asyncsink_kafka.security.tokens import Token, TokenRefusedError, TokenUnavailableError

from .http_endpoint import Endpoint, serve

pytestmark = pytest.mark.anyio

KEY_ID, KEY = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ROLE = "arn:aws:iam::123456789012:role/writer"

# What aws-msk-iam-sasl-signer-python 1.0.2 makes of these credentials at that time, decoded and without its user agent.
SIGNED_AT = datetime(2026, 1, 2, 3, 4, 5)
EXPIRES_AT = 1767323945
AMAZONS = (
    "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Feu-west-1%2Fkafka-cluster%2Faws4_request&X-Amz-Date=20260102T030405Z"
    "&X-Amz-Expires=900&X-Amz-SignedHeaders=host"
)
AMAZONS_SIGNATURE = "&X-Amz-Signature=7cc178453342e479def8e0e69cbff443ca929b5b0426af0f4b64554172c7195d"
AMAZONS_SESSION_SIGNATURE = (
    "&X-Amz-Security-Token=session%2Ftoken%2B%3D"
    "&X-Amz-Signature=7b9512811e0b1fdd1036abf0acc1ac204d9e0fc27970438027ce590a6175ba4f"
)

ASSUMED = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>AKIDASSUMED</AccessKeyId><SecretAccessKey>assumed</SecretAccessKey><SessionToken>session</SessionToken>
<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


def refusal(code: str) -> bytes:
    return f"<ErrorResponse><Error><Code>{code}</Code><Message>said</Message></Error></ErrorResponse>".encode()


def decoded(token: Token) -> str:
    return base64.urlsafe_b64decode(token.value + "=" * (-len(token.value) % 4)).decode()


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment of AWS with one pair of keys and one profile, and no machine that could have a role."""
    (tmp_path / "config").write_text("[profile other]\nregion = us-west-2\n")
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other\n")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with serve() as endpoint:
        endpoint.body = ASSUMED
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", endpoint.url)
        yield endpoint


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have botocore sign at `SIGNED_AT`, whichever way it has to tell the time."""
    if hasattr(botocore.auth, "get_current_datetime"):
        monkeypatch.setattr("botocore.auth.get_current_datetime", lambda *_, **__: SIGNED_AT)
    else:
        stopped = type("Stopped", (datetime,), {"utcnow": staticmethod(lambda: SIGNED_AT)})
        monkeypatch.setattr("botocore.auth.datetime", SimpleNamespace(datetime=stopped))


@pytest.mark.parametrize(
    ("session_token", "signature"), [(None, AMAZONS_SIGNATURE), ("session/token+=", AMAZONS_SESSION_SIGNATURE)]
)
def test_a_token_is_what_amazons_signer_makes(
    monkeypatch: pytest.MonkeyPatch, session_token: str | None, signature: str
) -> None:
    stop_clock(monkeypatch)
    token = signed_token("eu-west-1", Credentials(KEY_ID, KEY, session_token))
    assert decoded(token) == f"{AMAZONS}{signature}&User-Agent=asyncsink-kafka"
    assert token.expires_at == EXPIRES_AT
    assert "=" not in token.value


async def test_credentials_come_from_the_default_chain() -> None:
    assert f"X-Amz-Credential={KEY_ID}%2F" in decoded(await MskIam("eu-west-1").fetch())


async def test_credentials_come_from_the_profile_that_is_named() -> None:
    assert "X-Amz-Credential=AKIDOTHER%2F" in decoded(await MskIam("eu-west-1", profile="other").fetch())


async def test_a_role_is_assumed_with_its_session_name_and_external_id(sts: Endpoint) -> None:
    token = await MskIam(
        "eu-west-1", role_arn=ROLE, role_session_name="nightly", external_id="tenant-7", profile="other"
    ).fetch()
    assert "X-Amz-Credential=AKIDASSUMED%2F" in decoded(token)
    assert "X-Amz-Security-Token=session&" in decoded(token)
    ((signed_by, form),) = sts.asked
    assert "Credential=AKIDOTHER/" in signed_by
    assert (form["Action"], form["RoleArn"]) == (["AssumeRole"], [ROLE])
    assert (form["RoleSessionName"], form["ExternalId"]) == (["nightly"], ["tenant-7"])


async def test_a_role_is_assumed_without_an_external_id_if_there_is_none(sts: Endpoint) -> None:
    await MskIam("eu-west-1", role_arn=ROLE).fetch()
    assert sts.asked[0][1]["RoleSessionName"] == ["asyncsink"]
    assert "ExternalId" not in sts.asked[0][1]


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (403, "AccessDenied", TokenRefusedError),
        (400, "Throttling", TokenUnavailableError),
        (503, "ServiceUnavailable", TokenUnavailableError),
    ],
)
async def test_a_role_that_may_not_be_assumed_is_another_error_than_a_busy_service(
    sts: Endpoint, status: int, code: str, expected: type[Exception]
) -> None:
    sts.status, sts.body = status, refusal(code)
    with pytest.raises(expected, match=code) as caught:
        await MskIam("eu-west-1", role_arn=ROLE).fetch()
    assert KEY not in str(caught.value)


async def test_a_service_that_is_not_there_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    with pytest.raises(TokenUnavailableError, match="AWS does not answer"):
        await MskIam("eu-west-1", role_arn=ROLE).fetch()


async def test_no_credentials_are_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(TokenRefusedError, match="no AWS credentials are found; give the writers' machines a role"):
        await MskIam("eu-west-1").fetch()


async def test_an_unknown_profile_is_an_error_that_names_the_option() -> None:
    with pytest.raises(TokenRefusedError, match="awsProfile' = 'nobody'"):
        await MskIam("eu-west-1", profile="nobody").fetch()
    with pytest.raises(ConfigurationError, match=r"awsProfile.*nobody"):
        region_of("localhost:9092", None, "nobody")


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        ("b-1.demo.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098", "eu-west-1"),
        ("proxy.local:9098,b-2.demo.a1b2c3.c2.kafka.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("boot-a1b2c3.c1.kafka-serverless.ap-south-1.amazonaws.com:9098", "ap-south-1"),
        ("b-1.demo.a1b2c3.c2.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
    ],
)
def test_the_region_stands_in_the_brokers_names(servers: str, region: str) -> None:
    assert region_of(servers, None) == region
    assert region_of(servers, "eu-central-1") == "eu-central-1"


def test_the_region_of_the_configuration_serves_brokers_of_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert region_of("kafka.example.com:9098", None, "other") == "us-west-2"
    with pytest.raises(ConfigurationError, match=r"kafka\.example\.com:9098.*awsRegion"):
        region_of("kafka.example.com:9098", None)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "sa-east-1")
    assert region_of("kafka.example.com:9098", None) == "sa-east-1"
