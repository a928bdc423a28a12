"""What AIOKafkaProducer takes to know the brokers, and to be known by them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from aiokafka.abc import AbstractTokenProvider

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.security.logs import hide_credentials
from asyncsink_kafka.security.tls import ssl_context
from asyncsink_kafka.security.tokens import TokenCache

if TYPE_CHECKING:
    from asyncsink_kafka.options import KafkaOptions


def security_arguments(options: KafkaOptions) -> dict[str, Any]:
    """The keyword arguments of AIOKafkaProducer for TLS and SASL; the same suit an AIOKafkaConnection.

    It reads files, so call it in a thread. What it returns may serve several producers of one event loop; the token
    of OAUTHBEARER is then one for all.

    :raises ConfigurationError: a file cannot be read, a provider of tokens does not load or a library is missing
    """
    protocol = options.security_protocol
    arguments: dict[str, Any] = {"security_protocol": protocol}
    if protocol in ("SSL", "SASL_SSL"):
        arguments["ssl_context"] = ssl_context(options)
    if protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        hide_credentials()
        arguments |= _sasl_arguments(options)
    return arguments


def _sasl_arguments(options: KafkaOptions) -> dict[str, Any]:
    mechanism = options.sasl_mechanism
    if mechanism == "GSSAPI":
        return _kerberos_arguments(options)
    if mechanism in ("OAUTHBEARER", "AWS_MSK_IAM"):
        # MSK takes its tokens by this mechanism too.
        return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": _token_provider(options)}
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": options.sasl_username,
        "sasl_plain_password": options.sasl_password,
    }


def _kerberos_arguments(options: KafkaOptions) -> dict[str, Any]:
    if find_spec("gssapi") is None:
        raise ConfigurationError(
            "saslMechanism = GSSAPI needs the package gssapi, which is not installed; install it where the writers "
            "run: pip install 'asyncsink-kafka[gssapi]'"
        )
    return {
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": options.sasl_kerberos_service_name,
        "sasl_kerberos_domain_name": options.sasl_kerberos_domain_name,
    }


def _token_provider(options: KafkaOptions) -> AbstractTokenProvider:
    # What is not used is not imported: botocore alone takes a tenth of a second.
    if options.sasl_mechanism == "AWS_MSK_IAM":
        from asyncsink_kafka.security.msk_iam import MskIam, region_of

        region = region_of(options.bootstrap_servers, options.aws_region, options.aws_profile)
        return TokenCache(
            MskIam(
                region=region,
                profile=options.aws_profile,
                role_arn=options.aws_role_arn,
                role_session_name=options.aws_role_session_name,
                external_id=options.aws_external_id,
            ).fetch
        )
    if options.sasl_token_provider is not None:
        from asyncsink_kafka.security.token_providers import load_token_provider

        return load_token_provider(options.sasl_token_provider)
    return _client_credentials(options)


def _client_credentials(options: KafkaOptions) -> TokenCache:
    from asyncsink_kafka.security.client_credentials import ClientCredentials

    url, client_id = options.sasl_oauthbearer_token_endpoint_url, options.sasl_oauthbearer_client_id
    secret = options.sasl_oauthbearer_client_secret
    assert url is not None  # the options have looked, here and below
    assert client_id is not None
    assert secret is not None
    return TokenCache(ClientCredentials(url, client_id, secret, options.sasl_oauthbearer_scope).fetch)
