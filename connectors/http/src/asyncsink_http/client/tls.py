"""TLS: the options as a context of Python's ssl."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import httpx

from asyncsink.errors import ConfigurationError
from asyncsink_http.options import HttpOptions

ResultT = TypeVar("ResultT")

_REASONS: Final[Mapping[str, str]] = {
    "KEY_VALUES_MISMATCH": "the key belongs to another certificate",
    "NO_CERTIFICATE_OR_CRL_FOUND": "there is no certificate in it",
}

# The alerts by which a server tells what it thinks of a client's certificate (RFC 8446, 6.2), as OpenSSL names them.
_REFUSALS: Final = frozenset(
    {
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "TLSV1_ALERT_ACCESS_DENIED",
        "TLSV1_ALERT_UNKNOWN_CA",
    }
)


def is_refusal(error: BaseException) -> bool:
    """Whether it tells that the server refuses this client's certificate, or that there is none."""
    return isinstance(error, ssl.SSLError) and getattr(error, "reason", None) in _REFUSALS


def ssl_context(options: HttpOptions) -> ssl.SSLContext:
    """A context that checks a server's certificate and name, and shows this client's own certificate if there is one.

    Reads files and, without ``tls.caFile``, all authorities that are trusted: some 10 ms, so call it in a thread.

    :raises ConfigurationError: a file cannot be read, or does not hold what its option says
    """
    context = _trusting(options.tls_ca_files)
    if options.tls_certificate_file is not None:
        _show_certificate(context, options, options.tls_certificate_file)
    return context


def _trusting(paths: Sequence[str]) -> ssl.SSLContext:
    if not paths:
        return _trusting_the_usual()
    # The first by the same call as without options: Python's own settings of TLS come with it.
    context = _with(paths[0], lambda path: ssl.create_default_context(cafile=path))
    for path in paths[1:]:
        _with(path, context.load_verify_locations)
    return context


def _with(path: str, load: Callable[[str], ResultT]) -> ResultT:
    try:
        return load(path)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigurationError(
            f"option 'tls.caFile' = {path!r} gives no certificates: {_reason(error)}; it must hold the authorities' "
            "certificates in PEM, each from -----BEGIN CERTIFICATE----- on"
        ) from error


def _trusting_the_usual() -> ssl.SSLContext:
    """A context that trusts whom the environment names, else whom browsers trust."""
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        path = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
        raise ConfigurationError(
            f"the environment variable SSL_CERT_FILE = {path!r} gives no certificates: {_reason(error)}; mend it where "
            "the tasks run, or name the authorities in option 'tls.caFile'"
        ) from error


def _show_certificate(context: ssl.SSLContext, options: HttpOptions, path: str) -> None:
    key_path = options.tls_key_file or path
    try:
        # Without a password of some kind OpenSSL would ask for one on the terminal.
        context.load_cert_chain(path, key_path, password=options.tls_key_password or "")
    except (OSError, ValueError) as error:
        named = f"'tls.certificateFile' = {path!r}"
        if options.tls_key_file is not None:
            named += f" with 'tls.keyFile' = {key_path!r}"
        reason = _encryption(key_path, options) if isinstance(error, ssl.SSLError) else None
        raise ConfigurationError(
            f"option {named} gives no certificate with its key: {reason or _reason(error)}; they must hold the "
            "certificate chain and the private key in PEM, and tls.keyPassword opens an encrypted key"
        ) from error


def _encryption(key_path: str, options: HttpOptions) -> str | None:
    """What is wrong if the key is encrypted: Python tells of no reason then."""
    if b"ENCRYPTED" not in Path(key_path).read_bytes():
        return None
    if options.tls_key_password is None:
        return "the key is encrypted, and tls.keyPassword is not given"
    return "tls.keyPassword does not open the key"


def _reason(error: OSError | ValueError) -> str:
    """Why: OpenSSL's reasons hold neither keys nor passwords."""
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason or "", error.reason or "there is no PEM of the right kind in it")
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
