"""Codes of failures that no status stands for: there was no answer, or it needs more than its status to be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CONNECT = "CONNECT"
"""No connection came about."""
CONNECTION_LOST = "CONNECTION_LOST"
"""The connection broke before the answer was complete: whether the rows are stored is unknown."""
CERTIFICATE = "CERTIFICATE"
"""The server's TLS certificate is not trusted."""
CLIENT_CERTIFICATE = "CLIENT_CERTIFICATE"
"""The server does not trust this client's TLS certificate, or wants one and is shown none."""
INVALID_REQUEST = "INVALID_REQUEST"
"""The client refused to send the request."""
PROXY = "PROXY"
"""The options or the environment name a proxy that cannot be used."""
HTTP_VERSION = "HTTP_VERSION"
"""The server does not speak the version of HTTP that the options ask for."""
ANSWER_TOO_LARGE = "ANSWER_TOO_LARGE"
"""An answer that judges each row is longer than what is read of one."""
ITEM_RESULTS = "ITEM_RESULTS"
"""An answer that should judge each row cannot be read."""
RESPONSE_CALLBACK = "RESPONSE_CALLBACK"
"""The user's function for answers has failed."""
TOKEN_UNAVAILABLE = "TOKEN_UNAVAILABLE"
"""There is no token now, but there may be one later: its endpoint cannot be reached, or is in trouble."""
TOKEN_REFUSED = "TOKEN_REFUSED"
"""There will be no credentials before somebody mends the configuration."""
IN_PROGRESS = "409_IN_PROGRESS"
"""A 409 for a request that is sent again under its idempotency key: the earlier sending may still be at work."""

RETRYABLE_CODES: Final = frozenset({CONNECT, CONNECTION_LOST, IN_PROGRESS, TOKEN_UNAVAILABLE})

FATAL_CODES: Final[Mapping[str, str]] = {
    CERTIFICATE: "Check the host in url, or name the file with the authority that signed the certificate in "
    "option tls.caFile, or in the environment variable SSL_CERT_FILE where the tasks run.",
    ANSWER_TOO_LARGE: "Lower maxBatchSize, or have the server answer less, as Elasticsearch does with "
    "?filter_path=errors,items.*.status,items.*.error in url.",
    ITEM_RESULTS: "Check that itemResults is what the address in url answers; the rows may be stored.",
    RESPONSE_CALLBACK: "Mend the function that responseCallback names; the rows may be stored.",
    CLIENT_CERTIFICATE: "Check tls.certificateFile: the certificate has to be valid still, and signed by an authority "
    "that the server trusts.",
    INVALID_REQUEST: "Check url and the header.* options.",
    PROXY: "Check the options proxy, proxyUsername and proxyPassword or, without them, HTTP_PROXY, HTTPS_PROXY and "
    "ALL_PROXY where the tasks run: http:// and https:// work as they are, socks5:// needs asyncsink-http[socks] to be "
    "installed there.",
    HTTP_VERSION: "Leave httpVersion out, or ask for a server of HTTP/2.",
    TOKEN_REFUSED: "Check the options of credentials.",
}
"""Each with its remedy."""
