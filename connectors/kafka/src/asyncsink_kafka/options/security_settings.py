"""Java's settings of TLS and SASL, and what becomes of them."""

from __future__ import annotations

from typing import Final

from asyncsink_kafka.options.settings import Setting, becomes, login_handler, refused, without_effect

_PEM_ONLY: Final = "a PEM store has no password; ssl.key.password is that of the private key"
_OPENSSL: Final = "TLS is OpenSSL's here; ssl.enabled.protocols and ssl.cipher.suites say what may be used"
_BROKERS_TASK: Final = "brokers check tokens, a producer only sends them"
_RENEWED: Final = "tokens are renewed before they expire"
_KINIT: Final = "tickets are renewed where tasks run, such as by kinit -R"
_RETRIED: Final = "the endpoint is asked again until delivery.timeout.ms is over"
_OWN_TOKENS: Final = "give saslTokenProvider, the import path of a provider in Python that makes the token"

_TLS: Final[tuple[Setting, ...]] = (
    becomes("ssl.truststore.location", "sslTruststoreLocation"),
    becomes("ssl.truststore.certificates", "sslTruststoreCertificates"),
    becomes("ssl.truststore.type", "sslTruststoreType"),
    becomes("ssl.keystore.location", "sslKeystoreLocation"),
    becomes("ssl.keystore.type", "sslKeystoreType"),
    becomes("ssl.keystore.certificate.chain", "sslKeystoreCertificateChain"),
    becomes("ssl.keystore.key", "sslKeystoreKey"),
    becomes("ssl.key.password", "sslKeyPassword"),
    becomes("ssl.endpoint.identification.algorithm", "sslEndpointIdentificationAlgorithm"),
    becomes("ssl.cipher.suites", "sslCipherSuites"),
    becomes("ssl.enabled.protocols", "sslEnabledProtocols"),
    without_effect("ssl.truststore.password", _PEM_ONLY),
    without_effect("ssl.keystore.password", _PEM_ONLY),
    without_effect("ssl.protocol", _OPENSSL),
    without_effect("ssl.provider", _OPENSSL),
    without_effect("ssl.secure.random.implementation", _OPENSSL),
    without_effect("ssl.keymanager.algorithm", _OPENSSL),
    without_effect("ssl.trustmanager.algorithm", _OPENSSL),
    refused("ssl.engine.factory.class", f"classes of Java cannot be loaded: {_OPENSSL}"),
    refused("security.providers", f"classes of Java cannot be loaded: {_OPENSSL}"),
)

_SASL: Final[tuple[Setting, ...]] = (
    becomes("security.protocol", "securityProtocol"),
    becomes("sasl.mechanism", "saslMechanism"),
    becomes("sasl.jaas.config", "saslJaasConfig"),
    becomes("sasl.client.callback.handler.class", "saslMechanism", login_handler),
    becomes("sasl.login.callback.handler.class", "saslMechanism", login_handler),
    refused("sasl.login.class", f"classes of Java cannot be loaded; {_OWN_TOKENS}"),
    becomes("sasl.kerberos.service.name", "saslKerberosServiceName"),
    without_effect("sasl.kerberos.kinit.cmd", _KINIT),
    without_effect("sasl.kerberos.min.time.before.relogin", _KINIT),
    without_effect("sasl.kerberos.ticket.renew.jitter", _KINIT),
    without_effect("sasl.kerberos.ticket.renew.window.factor", _KINIT),
    without_effect("sasl.login.refresh.buffer.seconds", _RENEWED),
    without_effect("sasl.login.refresh.min.period.seconds", _RENEWED),
    without_effect("sasl.login.refresh.window.factor", _RENEWED),
    without_effect("sasl.login.refresh.window.jitter", _RENEWED),
    without_effect("sasl.login.connect.timeout.ms", _RETRIED),
    without_effect("sasl.login.read.timeout.ms", _RETRIED),
    without_effect("sasl.login.retry.backoff.ms", _RETRIED),
    without_effect("sasl.login.retry.backoff.max.ms", _RETRIED),
)

_TOKENS: Final[tuple[Setting, ...]] = (
    becomes("sasl.oauthbearer.token.endpoint.url", "saslOauthbearerTokenEndpointUrl"),
    becomes("sasl.oauthbearer.client.credentials.client.id", "saslOauthbearerClientId"),
    becomes("sasl.oauthbearer.client.credentials.client.secret", "saslOauthbearerClientSecret"),
    becomes("sasl.oauthbearer.scope", "saslOauthbearerScope"),
    refused("sasl.oauthbearer.header.urlencode", f"id and secret are sent as they are; {_OWN_TOKENS}", "false"),
    refused(
        "sasl.oauthbearer.jwt.retriever.class",
        f"tokens come from an endpoint for client id and secret; {_OWN_TOKENS}",
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        "org.apache.kafka.common.security.oauthbearer.ClientCredentialsJwtRetriever",
    ),
    without_effect("sasl.oauthbearer.jwt.validator.class", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.clock.skew.seconds", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.expected.audience", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.expected.issuer", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.jwks.endpoint.refresh.ms", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.jwks.endpoint.url", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.scope.claim.name", _BROKERS_TASK),
    without_effect("sasl.oauthbearer.sub.claim.name", _BROKERS_TASK),
    *(
        refused(f"sasl.oauthbearer.assertion.{name}", f"tokens for an assertion are not there; {_OWN_TOKENS}")
        for name in (
            *("algorithm", "claim.aud", "claim.exp.seconds", "claim.iss", "claim.jti.include", "claim.nbf.seconds"),
            *("claim.sub", "file", "private.key.file", "private.key.passphrase", "template.file"),
        )
    ),
)

SECURITY: Final[tuple[Setting, ...]] = (*_TLS, *_SASL, *_TOKENS)
