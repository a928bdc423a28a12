"""Options of SASL: who this client says it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink.options.fields import option_fields
from asyncsink_kafka.options.given_options import given_options
from asyncsink_kafka.options.jaas import read_jaas

_PASSWORDS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

# Which mechanisms an option belongs to, by the beginning of its field's name.
_BELONGS_TO: Final[Mapping[str, tuple[str, ...]]] = {
    "sasl_username": _PASSWORDS,
    "sasl_password": _PASSWORDS,
    "sasl_token_provider": ("OAUTHBEARER",),
    "sasl_oauthbearer_": ("OAUTHBEARER",),
    "sasl_kerberos_": ("GSSAPI",),
    "aws_": ("AWS_MSK_IAM",),
}


@dataclass(frozen=True, kw_only=True)
class SaslOptions(ConnectorOptions):
    """The protocol of the connection, and the credentials that each mechanism asks for."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = option(
        "PLAINTEXT", doc="Whether connections are encrypted (SSL) and who sends is asked for (SASL)."
    )
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"] | None
    ) = option(None, doc="How this client says who it is; found by the other options where only one fits.")
    sasl_username: str | None = option(None, doc="User of PLAIN and SCRAM; needs saslPassword too.")
    sasl_password: str | None = option(None, doc="Password of PLAIN and SCRAM; needs saslUsername too.", secret=True)
    sasl_jaas_config: str | None = option(
        None,
        doc="Java's way to give credentials, such as PlainLoginModule required username=... password=...; read for the "
        "modules of PLAIN, SCRAM, OAUTHBEARER and MSK IAM.",
        secret=True,
    )
    sasl_token_provider: str | None = option(
        None,
        doc="Import path, as in package.module:Name, of aiokafka's AbstractTokenProvider or of an async function that "
        "returns a token, for OAUTHBEARER. All of Spark's Pythons must have it.",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = option(
        None, doc="URL that gives tokens for client id and secret, for OAUTHBEARER."
    )
    sasl_oauthbearer_client_id: str | None = option(None, doc="Client id for the token endpoint.")
    sasl_oauthbearer_client_secret: str | None = option(None, doc="Secret for the token endpoint.", secret=True)
    sasl_oauthbearer_scope: str | None = option(None, doc="Scope that is asked for at the token endpoint.")
    sasl_kerberos_service_name: str = option("kafka", doc="Name of the brokers' service principal, for GSSAPI.")
    sasl_kerberos_domain_name: str | None = option(
        None, doc="Host in the brokers' service principal, for GSSAPI. By default each broker's own."
    )
    aws_region: str | None = option(
        None,
        doc="Region of the cluster, for AWS_MSK_IAM. By default as in the names of the brokers, or of the environment.",
    )
    aws_profile: str | None = option(None, doc="Profile of the AWS configuration, for AWS_MSK_IAM.")
    aws_role_arn: str | None = option(None, doc="Role to assume, for AWS_MSK_IAM.")
    aws_role_session_name: str | None = option(None, doc="Session name of the assumed role, for AWS_MSK_IAM.")
    aws_external_id: str | None = option(None, doc="External id that the role's policy asks for, for AWS_MSK_IAM.")

    def check_sasl(self) -> None:
        """Take what a JAAS configuration says, find the mechanism, and check that all fits.

        :raises ConfigurationError: it does not; names the options and no secret
        """
        if not self.security_protocol.startswith("SASL_"):
            if unused := given_options(self, "sasl_", "aws_"):
                raise ConfigurationError(
                    f"option {unused[0].name!r} is given, and 'securityProtocol' = {self.security_protocol!r} asks "
                    "nobody who sends; set securityProtocol=SASL_SSL, or leave it out"
                )
            return
        self._take_jaas()
        if self.sasl_mechanism is None:
            object.__setattr__(self, "sasl_mechanism", self._likely_mechanism())
        self._check_belonging()
        if self.sasl_mechanism in _PASSWORDS:
            self._need("sasl_username", "sasl_password")
        elif self.sasl_mechanism == "OAUTHBEARER":
            self._check_tokens()
        elif self.sasl_mechanism == "AWS_MSK_IAM":
            self._check_msk_iam()

    def _take_jaas(self) -> None:
        if self.sasl_jaas_config is None:
            return
        login = read_jaas(self.sasl_jaas_config)
        names = {each.field: (each.name, each.default) for each in option_fields(type(self))}
        for field, value in login.fields.items():
            own = getattr(self, field)
            if own not in (names[field][1], value):
                raise ConfigurationError(
                    f"options 'saslJaasConfig' and {names[field][0]!r} say different things; give one of them"
                )
            object.__setattr__(self, field, value)
        if self.sasl_mechanism is None and len(login.mechanisms) == 1:
            object.__setattr__(self, "sasl_mechanism", login.mechanisms[0])
        if self.sasl_mechanism is not None and self.sasl_mechanism not in login.mechanisms:
            raise ConfigurationError(
                f"option 'saslMechanism' = {self.sasl_mechanism!r} does not fit {login.module} of 'saslJaasConfig', "
                f"which is for {' or '.join(login.mechanisms)}; change one of them"
            )

    def _likely_mechanism(self) -> str:
        """The mechanism where options of only one are given."""
        if self.sasl_token_provider is not None or self.sasl_oauthbearer_token_endpoint_url is not None:
            return "OAUTHBEARER"
        raise ConfigurationError(
            f"option 'saslMechanism' is missing, and 'securityProtocol' = {self.security_protocol!r} needs it; set it "
            "to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM or GSSAPI, which is Java's default"
        )

    def _check_belonging(self) -> None:
        for each in given_options(self, *_BELONGS_TO):
            fitting = next(its for start, its in _BELONGS_TO.items() if each.field.startswith(start))
            if self.sasl_mechanism not in fitting:
                raise ConfigurationError(
                    f"option {each.name!r} is for {' and '.join(fitting)}, and 'saslMechanism' = "
                    f"{self.sasl_mechanism!r}; leave one of them out"
                )

    def _need(self, *names: str) -> None:
        known = {each.field: each.name for each in option_fields(type(self))}
        for name in names:
            if not getattr(self, name):
                raise ConfigurationError(
                    f"option {known[name]!r} is missing: 'saslMechanism' = {self.sasl_mechanism!r} needs "
                    f"{' and '.join(known[each] for each in names)}"
                )

    def _check_tokens(self) -> None:
        if self.sasl_token_provider is None:
            url = self.sasl_oauthbearer_token_endpoint_url
            if url is None:
                raise ConfigurationError(
                    "'saslMechanism' = 'OAUTHBEARER' needs tokens; give 'saslOauthbearerTokenEndpointUrl' with client "
                    "id and secret, or 'saslTokenProvider'"
                )
            parts = urlsplit(url)
            if parts.scheme.lower() not in ("http", "https") or not parts.hostname or parts.username is not None:
                raise ConfigurationError(
                    "option 'saslOauthbearerTokenEndpointUrl' must be a URL of http or https without a user's name, "
                    "such as https://login.example.com/oauth2/token; for tokens from elsewhere give 'saslTokenProvider'"
                )
            self._need("sasl_oauthbearer_client_id", "sasl_oauthbearer_client_secret")
            return
        if not re.fullmatch(r"[\w.]+:[\w.]+", self.sasl_token_provider):
            raise ConfigurationError(
                f"option 'saslTokenProvider' = {self.sasl_token_provider!r} must be an import path such as "
                "company.tokens:Provider"
            )
        if endpoint := given_options(self, "sasl_oauthbearer_"):
            raise ConfigurationError(
                f"options 'saslTokenProvider' and {endpoint[0].name!r} are two ways to a token; give one of them"
            )

    def _check_msk_iam(self) -> None:
        if self.security_protocol != "SASL_SSL":
            raise ConfigurationError(
                f"'saslMechanism' = 'AWS_MSK_IAM' needs encrypted connections, and 'securityProtocol' = "
                f"{self.security_protocol!r}; set securityProtocol=SASL_SSL and the brokers' port for IAM, 9098"
            )
        if self.aws_role_arn is not None and not re.fullmatch(r"arn:[\w-]+:iam::\d{12}:role/\S+", self.aws_role_arn):
            raise ConfigurationError(
                f"option 'awsRoleArn' = {self.aws_role_arn!r} is no ARN of a role, such as "
                "arn:aws:iam::123456789012:role/writer"
            )
        if self.aws_role_arn is None:
            for name, value in (
                ("awsRoleSessionName", self.aws_role_session_name),
                ("awsExternalId", self.aws_external_id),
            ):
                if value is not None:
                    raise ConfigurationError(f"option {name!r} needs 'awsRoleArn', the role that is assumed")
