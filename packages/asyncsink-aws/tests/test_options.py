"""Options: every name that is taken, what is refused and in which words, and what is never shown."""

from __future__ import annotations

import pickle
from dataclasses import fields

import pytest

from asyncsink import ConfigurationError
from asyncsink_aws import AwsOptions

KEYS = {"accessKeyId": "AK", "secretAccessKey": "s3cret-key"}
ROLE = "arn:aws:iam::123456789012:role/writer"
OTHER_ROLE = "arn:aws:iam::210987654321:role/team/reader,2"


def read(options: dict[str, str]) -> AwsOptions:
    return AwsOptions.from_options(options)


# By field: a value, the names it has, and what must be given beside it.
ALIASES: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "region": ("eu-west-1", ["aws.region", "awsRegion", "kinesis.region", "region_name"], {}),
    "endpoint": (
        "https://localhost:4567",
        ["aws.endpoint", "awsEndpoint", "kinesis.endpointUrl", "endpoint_url"],
        {},
    ),
    "credentials_provider": ("env_var", ["aws.credentials.provider"], {}),
    "access_key_id": (
        "AK",
        [
            "aws.credentials.basic.accesskeyid",
            "aws.credentials.provider.basic.accesskeyid",
            "aws.credentials.role.provider.basic.accesskeyid",
            "aws.credentials.provider.role.provider.basic.accesskeyid",
            "kinesis.awsAccessKeyId",
            "aws_access_key_id",
            "auth.access_key_id",
            "credentials.id",
        ],
        {"secretAccessKey": "s"},
    ),
    "secret_access_key": (
        "s",
        [
            "aws.credentials.basic.secretkey",
            "aws.credentials.provider.basic.secretkey",
            "aws.credentials.role.provider.basic.secretkey",
            "aws.credentials.provider.role.provider.basic.secretkey",
            "kinesis.awsSecretKey",
            "aws_secret_access_key",
            "auth.secret_access_key",
            "credentials.secret",
        ],
        {"accessKeyId": "AK"},
    ),
    "session_token": ("t", ["aws_session_token", "auth.session_token", "credentials.token"], KEYS),
    "profile": (
        "team",
        [
            "aws.credentials.profile.name",
            "aws.credentials.provider.profile.name",
            "aws.credentials.role.provider.profile.name",
            "aws.credentials.provider.role.provider.profile.name",
            "profile_name",
            "auth.profile",
            "credentials.profile",
        ],
        {},
    ),
    "profile_path": (
        "/etc/keys",
        [
            "aws.credentials.profile.path",
            "aws.credentials.provider.profile.path",
            "aws.credentials.role.provider.profile.path",
            "aws.credentials.provider.role.provider.profile.path",
            "auth.credentials_file",
        ],
        {},
    ),
    "role_arn": (
        ROLE,
        [
            "aws.credentials.role.arn",
            "aws.credentials.provider.role.arn",
            "kinesis.stsRoleArn",
            "auth.assume_role",
            "credentials.role",
        ],
        {},
    ),
    "role_session_name": (
        "etl",
        [
            "aws.credentials.role.sessionName",
            "aws.credentials.provider.role.sessionName",
            "kinesis.stsSessionName",
            "auth.session_name",
        ],
        {"roleArn": ROLE},
    ),
    "role_external_id": (
        "x-1",
        [
            "aws.credentials.role.externalId",
            "aws.credentials.provider.role.externalId",
            "auth.external_id",
            "credentials.role_external_id",
        ],
        {"roleArn": ROLE},
    ),
    "sts_endpoint": (
        "https://sts.local",
        [
            "aws.credentials.role.stsEndpoint",
            "aws.credentials.provider.role.stsEndpoint",
            "kinesis.stsEndpointUrl",
        ],
        {"roleArn": ROLE},
    ),
    "web_identity_token_file": (
        "/var/token",
        ["aws.credentials.webIdentityToken.file", "aws.credentials.provider.webIdentityToken.file"],
        {"roleArn": ROLE},
    ),
    "custom_credentials": (
        "vault:Keys",
        ["aws.credentials.custom.class", "aws.credentials.provider.custom.class"],
        {},
    ),
    "proxy": ("http://proxy:3128", ["proxy.https", "proxyUrl"], {}),
    "proxy_username": ("me", ["kinesis.sink.proxyUsername"], {"proxy": "http://proxy:3128", "proxyPassword": "p"}),
    "proxy_password": ("p", ["kinesis.sink.proxyPassword"], {"proxy": "http://proxy:3128", "proxyUsername": "me"}),
    "verify_tls": ("false", ["tls.verify_certificate"], {}),
    "ca_bundle": ("/etc/ca.pem", ["tls.ca_file"], {}),
    "connect_timeout_s": ("3s", [], {}),
    "read_timeout_s": ("3s", [], {}),
    "fips": ("true", ["use_fips_endpoint"], {}),
    "dual_stack": ("true", ["use_dualstack_endpoint"], {}),
}


@pytest.mark.parametrize(
    ("name", "field", "value", "beside"),
    [(name, field, value, beside) for field, (value, names, beside) in ALIASES.items() for name in [field, *names]],
)
def test_each_alias_says_what_the_option_says(name: str, field: str, value: str, beside: dict[str, str]) -> None:
    found = getattr(read({**beside, name: value}), field)
    assert found == {"true": True, "false": False, "3s": 3.0}.get(value, value)


def test_the_table_of_aliases_is_complete() -> None:
    known = {alias for option in AwsOptions.describe() for alias in option.aliases}
    tested = {name for _, names, _ in ALIASES.values() for name in names}
    assert known - tested == {"sink.http-client.read-timeout (ms)"}
    assert list(ALIASES) == [each.name for each in fields(AwsOptions)]


def test_flinks_read_timeout_counts_milliseconds() -> None:
    assert read({"sink.http-client.read-timeout": "360000"}).read_timeout_s == 360.0


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"aws.trust.all.certificates": "true"}, "verify_tls", False),
        ({"AWS.Trust.All.Certificates": "FALSE"}, "verify_tls", True),
        ({"verify": "false"}, "verify_tls", False),
        ({"verify": "true"}, "verify_tls", True),
        ({"verify": "/etc/ca.pem"}, "ca_bundle", "/etc/ca.pem"),
        ({"kinesis.sink.proxyAddress": "proxy", "kinesis.sink.proxyPort": "3128"}, "proxy", "http://proxy:3128"),
        ({"kinesis.sink.proxyAddress": "https://proxy"}, "proxy", "https://proxy"),
        ({"aws.trust.all.certificates": "true", "verifyTls": "false"}, "verify_tls", False),
        ({"aws.credentials.role.provider": "BASIC", "roleArn": ROLE, **KEYS}, "provider", "assume_role"),
        ({"aws.credentials.provider.role.provider": "AUTO", "roleArn": ROLE}, "provider", "assume_role"),
    ],
)
def test_names_from_elsewhere_whose_values_change(given: dict[str, str], field: str, value: object) -> None:
    assert getattr(read(given), field) == value


@pytest.mark.parametrize("word", ["AUTO", "BASIC", "ENV_VAR", "PROFILE", "ASSUME_ROLE", "WEB_IDENTITY_TOKEN", "CUSTOM"])
def test_flinks_words_for_providers_are_ours(word: str) -> None:
    beside = {
        "BASIC": KEYS,
        "ASSUME_ROLE": {"roleArn": ROLE},
        "CUSTOM": {"customCredentials": "vault:Keys"},
    }.get(word, {})
    assert read({"aws.credentials.provider": word, **beside}).provider == word.lower()


@pytest.mark.parametrize(
    ("given", "provider"),
    [
        ({}, "auto"),
        ({"region": "eu-west-1"}, "auto"),
        (KEYS, "basic"),
        ({"profile": "team"}, "profile"),
        ({"profilePath": "/etc/keys"}, "profile"),
        ({"roleArn": ROLE}, "assume_role"),
        ({"roleArn": ROLE, **KEYS}, "assume_role"),
        ({"roleArn": ROLE, "profile": "team"}, "assume_role"),
        ({"roleArn": ROLE, "webIdentityTokenFile": "/var/token"}, "web_identity_token"),
        ({"customCredentials": "vault:Keys"}, "custom"),
        ({"credentialsProvider": "web_identity_token"}, "web_identity_token"),
        ({"credentialsProvider": "web_identity_token", "roleArn": ROLE}, "web_identity_token"),
    ],
)
def test_the_options_that_are_given_choose_the_provider(given: dict[str, str], provider: str) -> None:
    assert read(given).provider == provider


def test_several_roles_are_separated_by_commas_which_their_names_may_hold() -> None:
    assert read({"roleArn": f"{OTHER_ROLE}, {ROLE}"}).roles == (OTHER_ROLE, ROLE)
    assert read({}).roles == ()


@pytest.mark.parametrize("name", sorted(AwsOptions.refused))
def test_what_is_not_there_is_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{name}' is not supported: "):
        read({name: "1"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"region": "eu west 1"}, "option 'region' = 'eu west 1' is no region; write for example eu-west-1"),
        ({"region": ""}, "option 'region' = '' is no region"),
        ({"endpoint": "localhost:4567"}, "option 'endpoint' = 'localhost:4567' must begin with http:// or https://"),
        ({"endpoint": "ftp://host"}, "option 'endpoint' = 'ftp://host' must begin with http:// or https://"),
        ({"endpoint": "https://"}, "and name a host, as in https://kinesis.eu-west-1.amazonaws.com"),
        ({"endpoint": "https://host:port"}, "option 'endpoint' is no URL: its host or its port cannot be read"),
        ({"endpoint": "https://host/?a=b"}, "holds a query, a fragment or white space"),
        ({"endpoint": "https://me@host"}, "option 'endpoint' carries a user name or a password; leave them out"),
        ({"stsEndpoint": "sts", "roleArn": ROLE}, "option 'stsEndpoint' = 'sts' must begin with http:// or https://"),
        ({"endpoint": "https://h", "fips": "true"}, "option 'fips' = true chooses among the endpoints of AWS, and"),
        ({"endpoint": "https://h", "dualStack": "true"}, "option 'dualStack' = true chooses among the endpoints"),
        ({"proxy": "http://me:pw@proxy"}, "option 'proxy' carries a user name or a password; give them as options"),
        ({"proxy": "proxy:3128"}, "option 'proxy' = 'proxy:3128' must begin with http:// or https://"),
        ({"proxy": "http://p", "endpoint": "http://h"}, "option 'endpoint' = 'http://h' is not encrypted, and would"),
        (
            {"proxy": "http://p", "stsEndpoint": "http://h", "roleArn": ROLE},
            "option 'stsEndpoint' = 'http://h' is not encrypted, and would be read and answered by 'proxy'",
        ),
        ({"proxyUsername": "me"}, "option 'proxyUsername' is given without 'proxyPassword'"),
        ({"proxyPassword": "pw"}, "option 'proxyPassword' is given without 'proxyUsername'"),
        ({"proxyUsername": "me", "proxyPassword": "pw"}, "option 'proxyUsername' is given without 'proxy'; give it"),
        ({"kinesis.sink.proxyPort": "3128"}, "names no host; give proxy, as in http://host:3128"),
        (
            {"kinesis.sink.proxyAddress": "a", "proxy": "http://b"},
            "options 'proxy' and 'kinesis.sink.proxyAddress' con",
        ),
        (
            {"verifyTls": "false", "caBundle": "/ca.pem"},
            "'caBundle' = '/ca.pem' says whom to trust, and verifyTls=",
        ),
        ({"aws.trust.all.certificates": "yes"}, "option 'aws.trust.all.certificates' = 'yes' must be true or false"),
        ({"aws.trust.all.certificates": "true", "verifyTls": "true"}, "options 'verifyTls' and 'aws.trust.all.certifi"),
        ({"verify": "true", "tls.verify_certificate": "false"}, "options 'tls.verify_certificate' and 'verify' contra"),
        ({"verify": "true", "aws.trust.all.certificates": "true"}, "and 'aws.trust.all.certificates' contradict each"),
        ({"connectTimeout": "0"}, "option 'connectTimeout' = 0.0 must be larger than 0"),
        ({"readTimeout": "0s"}, "option 'readTimeout' = 0.0 must be larger than 0"),
        ({"accessKeyId": "AK"}, "option 'accessKeyId' is given without 'secretAccessKey'"),
        ({"secretAccessKey": "s"}, "option 'secretAccessKey' is given without 'accessKeyId'"),
        ({"sessionToken": "t"}, "option 'sessionToken' is given without 'accessKeyId' and 'secretAccessKey'"),
        ({**KEYS, "profile": "team"}, "options 'accessKeyId' and 'profile' both say who asks; give one of them"),
        ({**KEYS, "profilePath": "/k"}, "options 'accessKeyId' and 'profilePath' both say who asks"),
        ({"credentialsProvider": "basic"}, "'credentialsProvider' = 'basic' needs 'accessKeyId' and 'secretAccessKey'"),
        ({"credentialsProvider": "assume_role"}, "'credentialsProvider' = 'assume_role' needs 'roleArn', as in arn:"),
        ({"credentialsProvider": "custom"}, "'credentialsProvider' = 'custom' needs 'customCredentials', as in"),
        ({"credentialsProvider": "SYS_PROP"}, "there are no system properties of Java here; set AWS_ACCESS_KEY_ID"),
        ({"aws.credentials.provider": "sys_prop"}, "option 'aws.credentials.provider' = 'sys_prop': there are no sys"),
        ({"aws.credentials.provider": "vault"}, "option 'aws.credentials.provider' = 'vault' must be 'auto' or"),
        (
            {"credentialsProvider": "env_var", **KEYS},
            "option 'accessKeyId' has no effect with credentialsProvider",
        ),
        ({"credentialsProvider": "profile", "roleArn": ROLE}, "option 'roleArn' has no effect with credentialsProvide"),
        ({"webIdentityTokenFile": "/t", "roleArn": ROLE, **KEYS}, "'accessKeyId' has no effect with credentialsProvid"),
        ({"customCredentials": "a:b", **KEYS}, "option 'accessKeyId' has no effect with credentialsProvider=custom"),
        ({"roleExternalId": "x"}, "option 'roleExternalId' has no effect with the default chain; it is read by"),
        ({"roleSessionName": "etl", **KEYS}, "option 'roleSessionName' has no effect with credentialsProvider=basic"),
        ({"stsEndpoint": "https://h"}, "option 'stsEndpoint' has no effect with the default chain"),
        ({"webIdentityTokenFile": "/t"}, "option 'webIdentityTokenFile' is given without 'roleArn'"),
        ({"webIdentityTokenFile": "/t", "roleArn": ROLE, "roleExternalId": "x"}, "no effect on a role that is assumed"),
        ({"roleArn": "writer"}, "option 'roleArn' names 'writer', which is no ARN of a role; write for example arn:"),
        ({"roleArn": f"{ROLE},arn:aws:iam::1:role/x"}, "option 'roleArn' names 'arn:aws:iam::1:role/x'"),
        ({"roleArn": ROLE, "roleSessionName": "a b"}, "option 'roleSessionName' = 'a b' must have 2 to 64 letters"),
        (
            {"customCredentials": "com.example.Keys"},
            "is no import path; classes of Java cannot be loaded: write",
        ),
        (
            {"roleArn": ROLE, "aws.credentials.role.provider": "ASSUME_ROLE"},
            "give all of them in order, as in roleArn=first,second",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(given)
    assert sentence in str(raised.value)


SECRETS = {
    **KEYS,
    "sessionToken": "s3cret-token",
    "proxy": "http://proxy:3128",
    "proxyUsername": "me",
    "proxyPassword": "s3cret-proxy",
}


def test_no_repr_shows_a_secret() -> None:
    shown = repr(read(SECRETS))
    assert "s3cret" not in shown
    assert "AK" in shown


@pytest.mark.parametrize(
    "given",
    [
        {**SECRETS, "profile": "team"},
        {**SECRETS, "credentialsProvider": "env_var"},
        {**SECRETS, "aws_secret_access_key": "s3cret-other"},
        {**SECRETS, "kinesis.sink.proxyPassword": "s3cret-other"},
        {**SECRETS, "endpoint": "http://host"},
        {"secretAccessKey": "s3cret"},
        {"endpoint": "https://me:s3cret@host"},
        {"endpoint": "me:s3cret@host"},
        {"endpoint": "https://me:s3cret/4@host"},
        {"proxy": "http://me:s3cret@proxy"},
        {"proxy": "me:s3cret@proxy"},
        {"endpoint": "https://host/?token=s3cret"},
    ],
)
def test_secrets_are_in_no_error(given: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(given)
    assert "s3cret" not in str(raised.value)


def test_options_survive_pickling() -> None:
    options = read(SECRETS)
    assert pickle.loads(pickle.dumps(options)) == options
    assert pickle.loads(pickle.dumps(options)).fingerprint() == options.fingerprint()
