"""Java's ``ssl.*`` settings, with PEM files or texts, as a context of Python's ssl."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.security.cipher_suites import TLS_1_3_SUITES, openssl_name
from asyncsink_kafka.security.pem import as_file

if TYPE_CHECKING:
    from asyncsink_kafka.options import KafkaOptions

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}

_log = logging.getLogger(__name__)


def ssl_context(options: KafkaOptions) -> ssl.SSLContext:
    """A context that checks the broker's certificate, and its name unless that is switched off.

    Reads files and, without a truststore, all authorities that the system trusts: some 20 ms, so call it in a thread.

    :raises ConfigurationError: a file cannot be read, or does not hold what its option says
    """
    context = _trusting(options)
    context.check_hostname = options.ssl_endpoint_identification_algorithm != ""
    _restrict_versions(context, _split(options.ssl_enabled_protocols))
    _restrict_suites(context, _split(options.ssl_cipher_suites))
    _show_certificate(context, options)
    return context


def _trusting(options: KafkaOptions) -> ssl.SSLContext:
    location, texts = options.ssl_truststore_location, options.ssl_truststore_certificates
    if location is None and texts is None:
        return ssl.create_default_context()
    name = f"sslTruststoreLocation = {location!r}" if location else "sslTruststoreCertificates"
    try:
        # By a file in both cases: where Python gets an empty text, it trusts the system's authorities.
        with ExitStack() as stack:
            return ssl.create_default_context(cafile=location or stack.enter_context(as_file(texts or "")))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigurationError(
            f"option '{name}' gives no certificates: {_reason(error)}; it must hold the authorities' certificates in "
            "PEM, each from -----BEGIN CERTIFICATE----- on"
        ) from None  # the cause may name where the text was put


def _restrict_versions(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Speak only these versions. Older ones are not spoken at all, though Java's settings may name them too."""
    if not names:
        return
    spoken = [_VERSIONS[name] for name in names if name in _VERSIONS]
    context.minimum_version, context.maximum_version = min(spoken), max(spoken)


def _restrict_suites(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Allow only these suites. A version of TLS of which none is named is not spoken, as with Java."""
    if not names:
        return
    modern = [name for name in names if name in TLS_1_3_SUITES]
    older = [openssl_name(name) for name in names if name not in TLS_1_3_SUITES]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError as error:
            raise ConfigurationError(
                f"option 'sslCipherSuites': OpenSSL here knows none of {', '.join(older)}; see openssl ciphers -stdname"
            ) from error
    try:
        if not modern:
            context.maximum_version = min(context.maximum_version, ssl.TLSVersion.TLSv1_2, key=_rank)
        elif not older:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
    except ValueError as error:
        raise _no_version_left() from error
    if _rank(context.minimum_version) > _rank(context.maximum_version):
        raise _no_version_left()
    if modern and (others := sorted(TLS_1_3_SUITES - set(modern))):
        _log.warning("with TLS 1.3, Python's ssl leaves these suites on too: %s", ", ".join(others))


def _rank(version: ssl.TLSVersion) -> float:
    """Its place among the others; MAXIMUM_SUPPORTED and MINIMUM_SUPPORTED are negative numbers."""
    if version == ssl.TLSVersion.MAXIMUM_SUPPORTED:
        return float("inf")
    return float(version.value)


def _no_version_left() -> ConfigurationError:
    return ConfigurationError(
        "option 'sslCipherSuites' has no suite for a version in 'sslEnabledProtocols'; add one, such as "
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 for TLSv1.2, or leave sslCipherSuites out"
    )


def _show_certificate(context: ssl.SSLContext, options: KafkaOptions) -> None:
    """Load the client's certificate with its key, if there is one: from one file, as Java has it, or from two texts."""
    location, chain, key = (
        options.ssl_keystore_location,
        options.ssl_keystore_certificate_chain,
        options.ssl_keystore_key,
    )
    if location is None and chain is None:
        return
    name = f"sslKeystoreLocation = {location!r}" if location else "sslKeystoreCertificateChain"
    with ExitStack() as stack:
        try:
            chain_path = location or stack.enter_context(as_file(chain or ""))
            key_path = location or stack.enter_context(as_file(key or ""))
            # Without a password of some kind OpenSSL would ask for one on the terminal.
            context.load_cert_chain(chain_path, key_path, password=options.ssl_key_password or "")
        except (OSError, ValueError) as error:
            reason = _encryption(key_path, options) if isinstance(error, ssl.SSLError) else None
            raise ConfigurationError(
                f"option '{name}' gives no certificate with its key: {reason or _reason(error)}; it takes the "
                "certificate chain and the private key (PKCS 8) in PEM, and sslKeyPassword if the key is encrypted"
            ) from None  # the cause may name where the texts were put


def _encryption(key_path: str, options: KafkaOptions) -> str | None:
    """What is wrong if the key is encrypted: Python tells of no reason then."""
    if b"ENCRYPTED" not in Path(key_path).read_bytes():
        return None
    if options.ssl_key_password is None:
        return "the key is encrypted, and sslKeyPassword is not given"
    return "sslKeyPassword does not open the key"


def _split(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]


def _reason(error: OSError | ValueError) -> str:
    """Why, without a path of ours: OpenSSL's reasons hold neither keys nor passwords."""
    if isinstance(error, ssl.SSLError):
        return _OPENSSL_REASONS.get(error.reason or "", error.reason or "there is no PEM of the right kind in it")
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


_OPENSSL_REASONS = {
    "KEY_VALUES_MISMATCH": "the key belongs to another certificate",
    "NO_CERTIFICATE_OR_CRL_FOUND": "there is no certificate in it",
}
