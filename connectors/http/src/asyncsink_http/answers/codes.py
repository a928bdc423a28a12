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
INVALID_REQUEST = "INVALID_REQUEST"
"""The client refused to send the request."""
PROXY = "PROXY"
"""The environment names a proxy that the client cannot use."""
IN_PROGRESS = "409_IN_PROGRESS"
"""A 409 for a request that is sent again under its idempotency key: the earlier sending may still be at work."""

RETRYABLE_CODES: Final = frozenset({CONNECT, CONNECTION_LOST, IN_PROGRESS})

FATAL_CODES: Final[Mapping[str, str]] = {
    CERTIFICATE: "Check the host in url, or name the file with the authority that signed the certificate in the "
    "environment variable SSL_CERT_FILE where the tasks run.",
    INVALID_REQUEST: "Check url and the header.* options.",
    PROXY: "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY where the tasks run: http:// and https:// work as they "
    "are, socks5:// needs httpx[socks] to be installed there.",
}
"""Each with its remedy."""
