"""The options that every sink for an AWS service has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from asyncsink.options import Alias, ConnectorOptions, option
from asyncsink_aws.options.connection_rules import check_connection
from asyncsink_aws.options.credentials_rules import check_credentials, roles_of
from asyncsink_aws.options.foreign import REFUSED, translated

Provider = Literal["auto", "basic", "env_var", "profile", "assume_role", "web_identity_token", "custom"]


def _flink(name: str) -> tuple[str, str]:
    """Flink's two spellings of a setting of its credentials: of SQL, and of its programs."""
    return f"aws.credentials.{name}", f"aws.credentials.provider.{name}"


@dataclass(frozen=True, kw_only=True)
class AwsOptions(ConnectorOptions):
    """Where an AWS service is, whose credentials sign the requests, and by what connection they go.

    The base of a connector's own options; one that sets ``refused`` or overrides ``translated`` or ``__post_init__``
    includes what it has here.
    """

    refused: ClassVar[Mapping[str, str]] = REFUSED

    region: str | None = option(
        None,
        doc="Region of the service, such as eu-west-1. By default that of the stream's ARN, of AWS_REGION or "
        "AWS_DEFAULT_REGION where tasks run, or of the profile there.",
        aliases=["aws.region", "awsRegion", "kinesis.region", "region_name"],
    )
    endpoint: str | None = option(
        None,
        doc="Address of the service in place of AWS' own, as for VPC endpoints and emulators: http or https.",
        aliases=["aws.endpoint", "awsEndpoint", "kinesis.endpointUrl", "endpoint_url"],
    )
    credentials_provider: Provider = option(  # noqa: RUF009 - ruff does not see that the alias is of strings
        "auto",
        doc="Where credentials come from: basic, from accessKeyId and secretAccessKey; env_var; profile; assume_role; "
        "web_identity_token; custom. auto takes the one whose options are given, else the chain of AWS' own clients: "
        "environment, profile and SSO, web identity, container, instance.",
        aliases=["aws.credentials.provider"],
    )
    access_key_id: str | None = option(
        None,
        doc="Id of an access key; needs secretAccessKey too. Before a role it is the one that assumes it.",
        aliases=[
            *_flink("basic.accesskeyid"),
            *_flink("role.provider.basic.accesskeyid"),
            "kinesis.awsAccessKeyId",
            "aws_access_key_id",
            "auth.access_key_id",
            "credentials.id",
        ],
    )
    secret_access_key: str | None = option(
        None,
        doc="Secret of the access key. Spark shows options in places that are not ours: prefer a role or a profile.",
        aliases=[
            *_flink("basic.secretkey"),
            *_flink("role.provider.basic.secretkey"),
            "kinesis.awsSecretKey",
            "aws_secret_access_key",
            "auth.secret_access_key",
            "credentials.secret",
        ],
        secret=True,
    )
    session_token: str | None = option(
        None,
        doc="Session token that belongs to a temporary access key.",
        aliases=["aws_session_token", "auth.session_token", "credentials.token"],
        secret=True,
    )
    profile: str | None = option(
        None,
        doc="Profile of the shared configuration where tasks run; with credentialsProvider=profile by default that of "
        "AWS_PROFILE, else default. Before a role it is the one that assumes it.",
        aliases=[
            *_flink("profile.name"),
            *_flink("role.provider.profile.name"),
            "profile_name",
            "auth.profile",
            "credentials.profile",
        ],
    )
    profile_path: str | None = option(
        None,
        doc="Credentials file in which the profile stands, in place of ~/.aws/credentials.",
        aliases=[*_flink("profile.path"), *_flink("role.provider.profile.path"), "auth.credentials_file"],
    )
    role_arn: str | None = option(
        None,
        doc="Role to assume; several, separated by commas, are assumed one with the other, the last one signs.",
        aliases=[*_flink("role.arn"), "kinesis.stsRoleArn", "auth.assume_role", "credentials.role"],
    )
    role_session_name: str | None = option(
        None,
        doc="Name of the role's session in AWS' logs; by default asyncsink.",
        aliases=[*_flink("role.sessionName"), "kinesis.stsSessionName", "auth.session_name"],
    )
    role_external_id: str | None = option(
        None,
        doc="External id that the owner of the last role asks for.",
        aliases=[*_flink("role.externalId"), "auth.external_id", "credentials.role_external_id"],
    )
    sts_endpoint: str | None = option(
        None,
        doc="Address of the token service in place of AWS' own in the region.",
        aliases=[*_flink("role.stsEndpoint"), "kinesis.stsEndpointUrl"],
    )
    web_identity_token_file: str | None = option(
        None,
        doc="File of the token with which the first role is assumed; it is read again for each renewal. By default "
        "that of AWS_WEB_IDENTITY_TOKEN_FILE.",
        aliases=[*_flink("webIdentityToken.file")],
    )
    custom_credentials: str | None = option(
        None,
        doc="Import path, as in package.module:Class, of your own source: its method load(), async or not, returns "
        "access key id, secret, session token or None, and the time of expiry or None. All of Spark's Pythons must "
        "have it.",
        aliases=[*_flink("custom.class")],
    )
    proxy: str | None = option(
        None,
        doc="Proxy of all requests, as in http://proxy.example.com:3128. By default HTTPS_PROXY and NO_PROXY of where "
        "tasks run.",
        aliases=["proxy.https", "proxyUrl"],
    )
    proxy_username: str | None = option(
        None, doc="Name at the proxy; needs proxyPassword too.", aliases=["kinesis.sink.proxyUsername"]
    )
    proxy_password: str | None = option(
        None, doc="Password at the proxy.", aliases=["kinesis.sink.proxyPassword"], secret=True
    )
    verify_tls: bool = option(
        True,
        doc="false trusts every certificate, which is for emulators only.",
        aliases=["tls.verify_certificate"],
    )
    ca_bundle: str | None = option(
        None,
        doc="PEM file of the authorities that are trusted, where tasks run. By default that of AWS_CA_BUNDLE, else "
        "botocore's.",
        aliases=["tls.ca_file"],
    )
    connect_timeout_s: float = option(10.0, doc="Time for opening a connection.", unit="s")
    read_timeout_s: float = option(
        60.0,
        doc="Time without a byte of an answer, after which its connection is given up; requestTimeout is over all.",
        unit="s",
        aliases=[Alias("sink.http-client.read-timeout", unit="ms")],
    )
    fips: bool = option(False, doc="Endpoints of AWS that are validated by FIPS 140.", aliases=["use_fips_endpoint"])
    dual_stack: bool = option(
        False, doc="Endpoints of AWS that are reached by IPv6, too.", aliases=["use_dualstack_endpoint"]
    )

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        return translated(options, cls.describe())

    def __post_init__(self) -> None:
        check_connection(self)
        check_credentials(self)

    @property
    def default_region(self) -> str | None:
        """The region that these options name; a connector adds that of its stream's ARN."""
        return self.region

    @property
    def provider(self) -> Provider:
        """The provider that is meant: ``auto`` is left only where no option of another one is given."""
        if self.credentials_provider != "auto":
            return self.credentials_provider
        ways: tuple[tuple[str | None, Provider], ...] = (
            (self.custom_credentials, "custom"),
            (self.web_identity_token_file, "web_identity_token"),
            (self.role_arn, "assume_role"),
            (self.access_key_id, "basic"),
            (self.profile or self.profile_path, "profile"),
        )
        return next((name for given, name in ways if given is not None), "auto")

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles to assume, in order."""
        return roles_of(self.role_arn)
