"""Which failures to connect are refusals of who we are, and what exactly a broker said.

aiokafka logs why it cannot connect and raises an error without the reason. No retry mends a wrong password or a
certificate that nobody trusts, so these are told apart here and end a write at once, as Java's
``AuthenticationException`` does.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka import errors

from asyncsink.errors import RequestError
from asyncsink_kafka.security.tokens import TokenRefusedError

SSL_AUTHENTICATION_FAILED = "SSL_AUTHENTICATION_FAILED"
"""Our code where a TLS handshake fails for a certificate: Kafka's protocol has none, since nobody could send it."""

REFUSAL_CODES = (
    "SASL_AUTHENTICATION_FAILED",
    "UNSUPPORTED_SASL_MECHANISM",
    "ILLEGAL_SASL_STATE",
    "SECURITY_DISABLED",
    SSL_AUTHENTICATION_FAILED,
)
"""Every code of :func:`authentication_refusal`; all of them are fatal."""

_log = logging.getLogger(__name__)

_SASL_ERRORS = (
    errors.SaslAuthenticationFailed,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
    errors.SecurityDisabled,
)

_UNTRUSTED = (
    "the broker's certificate is not trusted ({reason}); set sslTruststoreLocation or sslTruststoreCertificates "
    "to the authority that signed it, and connect by a name that it holds"
)
_WANTED = (
    "the broker wants another client certificate ({reason}); set sslKeystoreLocation, or "
    "sslKeystoreCertificateChain and sslKeystoreKey, to one that its authority signed"
)
_NO_TLS = (
    "the broker's answer is no TLS ({reason}); the port may be of another listener, or securityProtocol must be "
    "PLAINTEXT or SASL_PLAINTEXT"
)
_DISAGREED = (
    "the broker speaks no TLS version or cipher suite that is allowed here ({reason}); see sslEnabledProtocols and "
    "sslCipherSuites"
)
# OpenSSL's reasons, as ssl.SSLError.reason spells them; an alert is what the broker tells us.
_TLS_SENTENCES = {
    "CERTIFICATE_VERIFY_FAILED": _UNTRUSTED,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _WANTED,
    "TLSV1_ALERT_UNKNOWN_CA": _WANTED,
    "SSLV3_ALERT_BAD_CERTIFICATE": _WANTED,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": _WANTED,
    "SSLV3_ALERT_CERTIFICATE_REVOKED": _WANTED,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _WANTED,
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": _WANTED,
    "TLSV1_ALERT_ACCESS_DENIED": _WANTED,
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "TLSV1_ALERT_PROTOCOL_VERSION": _DISAGREED,
    "UNSUPPORTED_PROTOCOL": _DISAGREED,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": _DISAGREED,
    "NO_CIPHERS_AVAILABLE": _DISAGREED,
}


def authentication_refusal(error: BaseException | None) -> RequestError | None:
    """What `error`, or a cause of it, says if it is a refusal that no retry mends; None for every other error.

    Its code is one of :data:`REFUSAL_CODES`. The message quotes the broker, which does not repeat credentials.
    """
    for each in _with_causes(error):
        if isinstance(each, _SASL_ERRORS):
            return RequestError(each.message, _sasl_sentence(each))
        if isinstance(each, ssl.SSLError) and (sentence := _TLS_SENTENCES.get(each.reason or "")):
            reason = getattr(each, "verify_message", None) or each.reason
            return RequestError(SSL_AUTHENTICATION_FAILED, sentence.format(reason=reason))
    return None


async def why_unreachable(
    bootstrap_servers: str, security: Mapping[str, Any], *, client_id: str, timeout_s: float
) -> Exception | None:
    """Connect to the servers once more, one after the other, and return what the first of them failed with.

    For a producer that could not start. A refusal is worth more than a dead host: if one server refuses the
    credentials, that error is returned. None if a server takes the connection now, or if aiokafka lacks what it takes
    to ask.

    :param security: what :func:`~asyncsink_kafka.security.security_arguments` returns
    :param timeout_s: for each server
    """
    try:
        from aiokafka.conn import collect_hosts

        from asyncsink_kafka.security.sessions import SessionConnection
    except ImportError as error:
        _log.debug("the servers are not asked why they cannot be reached: %s", error)
        return None
    first: Exception | None = None
    for host, port, _ in collect_hosts(bootstrap_servers, randomize=False):
        connection = SessionConnection(
            host, port, client_id=client_id, request_timeout_ms=round(timeout_s * 1000), **security
        )
        try:
            await connection.connect()
        except (OSError, TimeoutError, errors.KafkaError) as error:
            if authentication_refusal(error) is not None:
                return error
            first = first or error
        else:
            await connection.close()
            return None
    return first


def _sasl_sentence(error: errors.BrokerResponseError) -> str:
    said = "; ".join(str(each) for each in error.args if each) or error.description
    if isinstance(error, TokenRefusedError):
        return said  # no broker was asked, and the remedy is in it
    if isinstance(error, errors.UnsupportedSaslMechanismError):
        return f"{said}; set saslMechanism to one that is, or enable this one on the brokers"
    if isinstance(error, errors.SaslAuthenticationFailed):
        return f"{said}; check the user name, the password or the token, and that the broker knows them"
    return f"{said}; the broker's listener may have another securityProtocol"


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
