"""Each way to credentials, over real HTTP: which keys sign, and who was asked for them."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from botocore.exceptions import CredentialRetrievalError, NoCredentialsError

from asyncsink import ConfigurationError
from asyncsink_aws.client import connect

from .stub import CONTAINER_PATH, AwsStub, put, signing_key

pytestmark = pytest.mark.anyio

KEYS = {"access_key_id": "AK", "secret_access_key": "s3cret"}
ROLE = "arn:aws:iam::123456789012:role/writer"
SECOND = "arn:aws:iam::210987654321:role/team/reader"


def write_profile(path: Path, profile: str, key: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[{profile}]\naws_access_key_id = {key}\naws_secret_access_key = s3cret\n")


def on_an_instance(stub: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", stub.url)


async def test_keys_of_the_options_sign_with_their_token(stub: AwsStub) -> None:
    assert await signing_key(stub, **KEYS, session_token="temporary") == "AK"
    assert stub.tokens == ["temporary"]


@pytest.mark.parametrize("options", [{}, {"credentials_provider": "env_var"}])
async def test_keys_of_the_environment(stub: AwsStub, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    assert await signing_key(stub, **options) == "ENV"


async def test_env_var_looks_nowhere_else(stub: AwsStub, no_aws: Path) -> None:
    write_profile(no_aws / ".aws" / "credentials", "default", "FILE")
    with pytest.raises(ConfigurationError, match="AWS_ACCESS_KEY_ID is not set where tasks run"):
        await signing_key(stub, credentials_provider="env_var")
    assert stub.signed_by == []


@pytest.mark.parametrize("options", [{"profile": "team"}, {"profile": "team", "credentials_provider": "profile"}])
async def test_a_profile_goes_before_keys_of_the_environment(
    stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    write_profile(no_aws / ".aws" / "credentials", "team", "TEAM")
    assert await signing_key(stub, **options) == "TEAM"


@pytest.mark.parametrize(("named", "key"), [(None, "FILE"), ("team", "TEAM")])
async def test_the_provider_profile_takes_the_one_of_the_environment_and_no_other_keys(
    stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch, named: str | None, key: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    if named is not None:
        monkeypatch.setenv("AWS_PROFILE", named)
    write_profile(no_aws / ".aws" / "credentials", named or "default", key)
    assert await signing_key(stub, credentials_provider="profile") == key


@pytest.mark.parametrize("given", [{}, {"role_arn": ROLE}, {"profile_path": "/nope"}])
async def test_a_profile_without_credentials_is_said_and_the_instance_is_not_asked(
    stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    on_an_instance(stub, monkeypatch)
    (no_aws / ".aws").mkdir()
    (no_aws / ".aws" / "config").write_text("[profile team]\nregion = eu-west-1\n")
    with pytest.raises(ConfigurationError, match=r"profile 'team' in .* has no credentials; give it an access key"):
        await signing_key(stub, profile="team", **given)
    assert stub.issued == 0


async def test_a_profile_may_ask_for_the_instance(stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_an_instance(stub, monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", stub.url)
    (no_aws / ".aws").mkdir()
    text = f"[profile team]\nrole_arn = {ROLE}\ncredential_source = Ec2InstanceMetadata\n"
    (no_aws / ".aws" / "config").write_text(text)
    assert await signing_key(stub, profile="team") == "K2"
    assert [each["by"] for each in stub.asked] == ["K1"]


async def test_a_profile_may_name_a_process(stub: AwsStub, no_aws: Path) -> None:
    keys = {"Version": 1, "AccessKeyId": "OF-A-PROCESS", "SecretAccessKey": "s3cret", "SessionToken": "temporary"}
    script = no_aws / "process.py"
    script.write_text(f"print({json.dumps(json.dumps(keys))})")
    (no_aws / ".aws").mkdir()
    (no_aws / ".aws" / "config").write_text(f"[default]\ncredential_process = {sys.executable} {script}\n")
    assert await signing_key(stub, credentials_provider="profile") == "OF-A-PROCESS"
    assert stub.tokens == ["temporary"]


@pytest.mark.parametrize("profile", [None, "team"])
async def test_a_profile_of_a_file_elsewhere(stub: AwsStub, no_aws: Path, profile: str | None) -> None:
    write_profile(no_aws / "mine" / "keys", profile or "default", "MINE")
    assert await signing_key(stub, profile=profile, profile_path=str(no_aws / "mine" / "keys")) == "MINE"


async def test_a_profile_that_is_not_there_is_said_before_anything_is_sent(stub: AwsStub) -> None:
    sentence = "option 'profile' = 'team' is not in the shared configuration; add it to ~/.aws/config where tasks run"
    with pytest.raises(ConfigurationError, match=sentence):
        async with connect(stub.options(profile="team"), "kinesis", max_in_flight=1):
            raise AssertionError("there is such a profile")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "option 'profilePath' = '/nope' has no profile 'default', and ~/.aws/config has none; correct the path"),
        ({"profile": "team"}, "option 'profilePath' = '/nope' has no profile 'team', and ~/.aws/config has none"),
        ({"role_arn": ROLE}, "option 'profilePath' = '/nope' has no profile 'default'"),
    ],
)
async def test_a_path_of_no_profile_is_said_before_anything_is_sent(
    stub: AwsStub, given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        async with connect(stub.options(profile_path="/nope", **given), "kinesis", max_in_flight=1):
            raise AssertionError("there is such a profile")
    assert sentence in str(raised.value)


async def test_a_role_is_assumed_by_keys_whatever_profile_the_environment_names(
    stub: AwsStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "gone")
    assert await signing_key(stub, **KEYS, role_arn=ROLE, sts_endpoint=stub.url) == "K1"


async def test_a_role_is_assumed_with_the_keys_that_are_given(stub: AwsStub) -> None:
    options = {**KEYS, "role_arn": ROLE, "role_external_id": "x-1", "role_session_name": "etl"}
    assert await signing_key(stub, **options, sts_endpoint=stub.url) == "K1"
    (asked,) = stub.asked
    wanted = {"Action": "AssumeRole", "RoleArn": ROLE, "ExternalId": "x-1", "RoleSessionName": "etl", "by": "AK"}
    assert wanted.items() <= asked.items()
    assert stub.tokens == ["token-of-K1"]


@pytest.mark.parametrize("options", [{}, {"profile": "team"}])
async def test_a_role_is_assumed_with_a_profile_or_the_chain(
    stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    write_profile(no_aws / ".aws" / "credentials", "team", "TEAM")
    assert await signing_key(stub, **options, role_arn=ROLE, sts_endpoint=stub.url) == "K1"
    assert [each["by"] for each in stub.asked] == ["TEAM" if options else "ENV"]
    assert stub.asked[0]["RoleSessionName"] == "asyncsink"


async def test_each_role_of_a_chain_is_assumed_with_the_one_before(stub: AwsStub) -> None:
    options = {**KEYS, "role_arn": f"{ROLE},{SECOND}", "role_external_id": "x-1"}
    assert await signing_key(stub, **options, sts_endpoint=stub.url) == "K2"
    asked = [(each["RoleArn"], each["by"], each.get("ExternalId")) for each in stub.asked]
    assert asked == [(ROLE, "AK", None), (SECOND, "K1", "x-1")]


async def test_a_web_identity_becomes_a_role_without_a_signature(stub: AwsStub, no_aws: Path) -> None:
    (no_aws / "token").write_text("jwt-1\n")
    options = {"web_identity_token_file": str(no_aws / "token"), "role_arn": ROLE, "sts_endpoint": stub.url}
    assert await signing_key(stub, **options) == "K1"
    (asked,) = stub.asked
    wanted = {"Action": "AssumeRoleWithWebIdentity", "RoleArn": ROLE, "WebIdentityToken": "jwt-1", "by": ""}
    assert wanted.items() <= asked.items()


@pytest.mark.parametrize(
    ("name", "reason"), [("nope", "No such file or directory"), ("", "Is a directory"), ("a/b", "Not a directory")]
)
async def test_a_token_that_cannot_be_read_from_the_first_is_a_mistake(
    stub: AwsStub, no_aws: Path, name: str, reason: str
) -> None:
    (no_aws / "a").touch()
    options = {"web_identity_token_file": str(no_aws / name), "role_arn": ROLE, "sts_endpoint": stub.url}
    with pytest.raises(ConfigurationError, match=rf"option 'webIdentityTokenFile' = '.*' cannot be read: {reason}; it"):
        await signing_key(stub, **options)


async def test_a_variable_that_names_no_token_is_named(stub: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/nope")
    with pytest.raises(ConfigurationError, match=r"^AWS_WEB_IDENTITY_TOKEN_FILE = '/nope' cannot be read"):
        await signing_key(stub, credentials_provider="web_identity_token", role_arn=ROLE)


async def test_a_token_that_was_there_is_an_outage(stub: AwsStub, no_aws: Path) -> None:
    (no_aws / "token").write_text("jwt-1")
    stub.life = timedelta()
    options = {"web_identity_token_file": str(no_aws / "token"), "role_arn": ROLE, "sts_endpoint": stub.url}
    async with connect(stub.options(**options), "kinesis", max_in_flight=1) as client:
        await put(client)
        (no_aws / "token").unlink()
        with pytest.raises(CredentialRetrievalError, match="token' cannot be read: No such file or directory"):
            await put(client)
        (no_aws / "token").write_text("jwt-2")
        await put(client)
    assert [each["WebIdentityToken"] for each in stub.asked] == ["jwt-1", "jwt-2"]


async def test_a_web_identity_may_be_followed_by_roles(stub: AwsStub, no_aws: Path) -> None:
    (no_aws / "token").write_text("jwt-1")
    options = {"web_identity_token_file": str(no_aws / "token"), "role_arn": f"{ROLE},{SECOND}"}
    assert await signing_key(stub, **options, role_external_id="x-1", sts_endpoint=stub.url) == "K2"
    assert [(each["RoleArn"], each["by"]) for each in stub.asked] == [(ROLE, ""), (SECOND, "K1")]


async def test_token_and_role_of_the_environment(stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (no_aws / "token").write_text("jwt-1")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(no_aws / "token"))
    with pytest.raises(ConfigurationError, match="finds no role: give 'roleArn', or set AWS_ROLE_ARN"):
        await signing_key(stub, credentials_provider="web_identity_token")
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", stub.url)
    assert await signing_key(stub, credentials_provider="web_identity_token") == "K1"
    assert await signing_key(stub) == "K2", "the chain of AWS' clients finds them, too"
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE")
    with pytest.raises(ConfigurationError, match="finds no token: give 'webIdentityTokenFile', or set AWS_WEB_ID"):
        await signing_key(stub, credentials_provider="web_identity_token")


async def test_a_role_in_a_profile_is_assumed_by_a_client_with_our_settings(
    stub: AwsStub, no_aws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_profile(no_aws / ".aws" / "credentials", "base", "BASE")
    (no_aws / ".aws" / "config").write_text(f"[profile team]\nrole_arn = {ROLE}\nsource_profile = base\n")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", stub.url)
    assert await signing_key(stub, profile="team") == "K1"
    (asked,) = stub.asked
    assert (asked["RoleArn"], asked["by"]) == (ROLE, "BASE")
    assert "asyncsink/" in asked["agent"]


async def test_a_container_lends_its_credentials(stub: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", stub.url + CONTAINER_PATH)
    assert await signing_key(stub) == "K1"
    assert stub.tokens == ["token-of-K1"]


async def test_an_instance_lends_its_credentials(stub: AwsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    on_an_instance(stub, monkeypatch)
    assert await signing_key(stub) == "K1"
    assert stub.tokens == ["token-of-K1"]


async def test_an_instance_is_asked_again_where_it_does_not_answer(
    stub: AwsStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_an_instance(stub, monkeypatch)
    stub.metadata_outages = 2
    assert await signing_key(stub) == "K1"
    assert stub.metadata_outages == 0


async def test_no_credentials_anywhere_are_said_when_a_request_is_to_be_signed(stub: AwsStub) -> None:
    async with connect(stub.options(), "kinesis", max_in_flight=1) as client:
        with pytest.raises(NoCredentialsError):
            await put(client)
    assert stub.signed_by == []


async def test_many_requests_at_once_ask_for_credentials_once(stub: AwsStub) -> None:
    options = stub.options(**KEYS, role_arn=ROLE, sts_endpoint=stub.url)
    async with connect(options, "kinesis", max_in_flight=8) as client:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(put, client)
    assert (stub.signed_by, len(stub.asked)) == (["K1"] * 8, 1)
