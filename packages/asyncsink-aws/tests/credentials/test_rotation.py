"""Credentials that change while a client is in use: the next request is signed with the new ones."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import ClientError, CredentialRetrievalError

from asyncsink import ConfigurationError
from asyncsink_aws import AwsKeys
from asyncsink_aws.client import connect
from asyncsink_aws.credentials import CurrentCredentials
from asyncsink_aws.credentials.renewed import RenewedCredentials

from . import own_sources
from .stub import CONTAINER_PATH, AwsStub, put
from .test_sources import KEYS, ROLE, SECOND, write_profile

pytestmark = pytest.mark.anyio


async def keys_around_an_expiry(stub: AwsStub, options: dict[str, Any], rotate: Any = lambda: None) -> list[str]:
    """The keys that sign before Kinesis says that they have expired, while it says so, and after that."""
    async with connect(stub.options(**options), "kinesis", max_in_flight=1) as client:
        await put(client)
        await put(client)
        stub.expired.add(stub.signed_by[-1])
        rotate()
        with pytest.raises(ClientError, match="ExpiredToken"):
            await put(client)
        await put(client)
    return stub.signed_by


async def test_a_role_is_assumed_again(stub: AwsStub) -> None:
    options = {**KEYS, "role_arn": ROLE, "sts_endpoint": stub.url}
    assert await keys_around_an_expiry(stub, options) == ["K1", "K1", "K1", "K2"]


async def test_a_chain_of_roles_is_assumed_again_from_its_beginning(stub: AwsStub) -> None:
    options = {**KEYS, "role_arn": f"{ROLE},{SECOND}", "sts_endpoint": stub.url}
    assert await keys_around_an_expiry(stub, options) == ["K2", "K2", "K2", "K4"]
    assert [each["by"] for each in stub.asked] == ["AK", "K1", "AK", "K3"]


async def test_the_file_of_a_web_identity_is_read_again(stub: AwsStub, no_aws: Path) -> None:
    (no_aws / "token").write_text("jwt-1")
    options = {"web_identity_token_file": str(no_aws / "token"), "role_arn": ROLE, "sts_endpoint": stub.url}
    keys = await keys_around_an_expiry(stub, options, lambda: (no_aws / "token").write_text("jwt-2"))
    assert keys == ["K1", "K1", "K1", "K2"]
    assert [each["WebIdentityToken"] for each in stub.asked] == ["jwt-1", "jwt-2"]


async def test_a_container_is_asked_again(stub: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", stub.url + CONTAINER_PATH)
    assert await keys_around_an_expiry(stub, {}) == ["K1", "K1", "K1", "K2"]


async def test_an_instance_is_asked_again(stub: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", stub.url)
    assert await keys_around_an_expiry(stub, {}) == ["K1", "K1", "K1", "K2"]


async def test_a_profile_is_read_again(stub: AwsStub, no_aws: Path) -> None:
    path = no_aws / ".aws" / "credentials"
    write_profile(path, "team", "OLD")
    keys = await keys_around_an_expiry(stub, {"profile": "team"}, lambda: write_profile(path, "team", "NEW"))
    assert keys == ["OLD", "OLD", "OLD", "NEW"]


async def test_the_keys_that_assume_a_role_are_looked_for_anew_once_they_have_expired(
    stub: AwsStub, no_aws: Path
) -> None:
    path = no_aws / ".aws" / "credentials"
    write_profile(path, "team", "OLD")
    stub.life = timedelta()  # so that each request renews the role's
    options = stub.options(profile="team", role_arn=f"{ROLE},{SECOND}", sts_endpoint=stub.url)
    async with connect(options, "kinesis", max_in_flight=1) as client:
        await put(client)
        stub.expired.add("OLD")
        with pytest.raises(ClientError, match="ExpiredToken"):
            await put(client)
        write_profile(path, "team", "NEW")
        await put(client)
    assert [each["by"] for each in stub.asked] == ["OLD", "K1", "OLD", "OLD", "OLD", "NEW", "K3"]
    assert stub.signed_by == ["K2", "K4"]


async def test_keys_refused_for_another_reason_are_not_looked_for_anew() -> None:
    class Refused:
        async def get_frozen_credentials(self) -> ReadOnlyCredentials:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "AssumeRole")

    async def load() -> Refused:
        return Refused()

    credentials = CurrentCredentials(load)
    for _ in range(2):
        with pytest.raises(ClientError, match="AccessDenied"):
            await credentials.get_frozen_credentials()
    assert credentials.generation == 1


@pytest.mark.parametrize("name", ["Plain", "Async"])
async def test_ones_own_source_is_asked_again(stub: AwsStub, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(own_sources, "rotation", {"key": "OWN-1", "loads": "0"})
    options = {"custom_credentials": f"{own_sources.__name__}:{name}"}
    keys = await keys_around_an_expiry(stub, options, lambda: own_sources.rotation.update(key="OWN-2"))
    assert keys == ["OWN-1", "OWN-1", "OWN-1", "OWN-2"]
    assert own_sources.rotation["loads"] == "2"


async def test_keys_that_the_first_answer_says_have_expired_are_not_used_again(stub: AwsStub) -> None:
    stub.expired.add("K1")
    options = stub.options(**KEYS, role_arn=ROLE, sts_endpoint=stub.url)
    async with connect(options, "kinesis", max_in_flight=1) as client:
        with pytest.raises(ClientError, match="ExpiredToken"):
            await put(client)
        await put(client)
    assert stub.signed_by == ["K1", "K2"]


async def test_a_late_answer_to_a_request_with_old_keys_does_not_end_the_new_ones() -> None:
    found: list[RenewedCredentials] = []

    async def fetch() -> AwsKeys:
        return AwsKeys(f"K{len(found)}", "s3cret")

    async def load() -> RenewedCredentials:
        found.append(RenewedCredentials(fetch, "a source"))
        return found[-1]

    credentials = CurrentCredentials(load)
    await credentials.get_frozen_credentials()
    signed_with = credentials.generation
    for _ in range(2):
        credentials.expire(signed_with)
        assert (await credentials.get_frozen_credentials()).access_key == "K2"


async def test_keys_that_cannot_change_are_said_to_have_expired(stub: AwsStub) -> None:
    sentence = r"have expired, and the same are found again \(access key 'AK'\); give new ones, or a profile or a role"
    with pytest.raises(ConfigurationError, match=sentence) as raised:
        await keys_around_an_expiry(stub, KEYS)
    assert stub.signed_by == ["AK", "AK", "AK"]
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("role", [{}, {"role_arn": ROLE}])
async def test_keys_of_the_environment_that_have_expired_by_their_own_word(
    stub: AwsStub, monkeypatch: pytest.MonkeyPatch, role: dict[str, str]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2001-01-01T00:00:00Z")
    async with connect(stub.options(**role), "kinesis", max_in_flight=1) as client:
        with pytest.raises(ConfigurationError, match="environment have expired, by AWS_CREDENTIAL_EXPIRATION where ta"):
            await put(client)
    assert (stub.signed_by, stub.asked) == ([], [])


async def test_a_source_that_gives_what_has_expired_is_asked_again_for_the_next_request(
    stub: AwsStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", stub.url + CONTAINER_PATH)
    stub.life = timedelta(hours=-1)
    async with connect(stub.options(), "kinesis", max_in_flight=1) as client:
        with pytest.raises(CredentialRetrievalError, match="from container-role: what it gives has expired"):
            await put(client)
        stub.life = timedelta(hours=1)
        await put(client)
    assert stub.signed_by == ["K3"]


async def test_short_lived_keys_are_not_asked_for_with_every_request(stub: AwsStub) -> None:
    stub.life = timedelta(minutes=15)
    options = stub.options(**KEYS, role_arn=ROLE, sts_endpoint=stub.url)
    async with connect(options, "kinesis", max_in_flight=1) as client:
        for _ in range(3):
            await put(client)
    assert stub.signed_by == ["K1"] * 3
