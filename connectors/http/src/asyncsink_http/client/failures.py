"""What goes wrong before there is an answer, in words that name the server and show no secret."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from asyncsink.errors import RequestError
from asyncsink_http.answers.codes import (
    CERTIFICATE,
    CLIENT_CERTIFICATE,
    CONNECT,
    CONNECTION_LOST,
    HTTP_VERSION,
    INVALID_REQUEST,
    PROXY,
)
from asyncsink_http.client.tls import is_refusal
from asyncsink_http.redaction import Redaction
from asyncsink_http.urls import PORTS

_EVENTS: Final = {
    CONNECT: "no connection to",
    CONNECTION_LOST: "the connection broke before the answer of",
    CERTIFICATE: "the certificate is not trusted of",
    CLIENT_CERTIFICATE: "this client's certificate is refused by",
    INVALID_REQUEST: "no request can be sent to",
    PROXY: "the proxy does not let through to",
    HTTP_VERSION: "HTTP/2 is not spoken by",
}


class HttpVersionError(Exception):
    """The server chose another version of HTTP than the one that was asked for."""


def request_error(error: Exception, code: str, url: str, redaction: Redaction) -> RequestError:
    """The failure that stands for an error of a client.

    :param code: what the client's error means; a certificate among its causes is told from it
    """
    causes = list(_causes(error))
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        code = CERTIFICATE
    if any(is_refusal(each) for each in causes):
        code = CLIENT_CERTIFICATE
    if any(isinstance(each, HttpVersionError) for each in causes):
        code = HTTP_VERSION
    text = str(error)
    if code == INVALID_REQUEST:
        # What a client refuses it quotes, and that may be a header's value.
        text = re.split(r"[:\s]+b?['\"]", text, maxsplit=1)[0]
    # The server is named already, and a URL's query may hold a secret.
    text = re.sub(r",? (?:for |url='|url=URL\(')https?://\S+", "", text)
    said = redaction.hide(text) or type(error).__name__
    return RequestError(code, f"{_EVENTS[code]} {peer(url)}: {said.rstrip('.')}.")


def proxy_error(source: str, url: str, reason: str) -> RequestError:
    """The failure of a request for which a proxy is named that cannot be used.

    :param source: who names it
    :param reason: without the proxy's address, which may hold a password
    """
    return RequestError(PROXY, f"{source} names a proxy that cannot be used for {peer(url)} ({reason}).")


def peer(url: str) -> str:
    """The server as messages name it."""
    parts = urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    return f"host {parts.hostname!r}, port {port}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
