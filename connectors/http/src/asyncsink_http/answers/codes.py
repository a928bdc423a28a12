"""What answers and broken connections mean: one table, and the words for them."""

from __future__ import annotations

from http import HTTPStatus

from asyncsink.errors import RequestError
from asyncsink.failures import ErrorTable
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import redact

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

_CREDENTIALS = "Check bearerToken, or username and password, or header.Authorization."
_REDIRECTION = "Redirects are not followed: set url to the address that answers itself."
_WRONG_ROWS = "Check that the columns, body and contentType are what the address takes."
_NOT_THE_ROWS = "The server refuses every request of this kind: ask its operator what it expects."

_FATAL_STATUSES = {
    "207": "An answer that judges each row is not read: use an endpoint that answers for the whole request.",
    **{str(status): _REDIRECTION for status in range(300, 400)},
    "401": f"The server wants to know who sends. {_CREDENTIALS}",
    "402": _NOT_THE_ROWS,
    "403": f"The sender may not write here: have the permission granted. {_CREDENTIALS}",
    "404": "Nothing is at this address: check url.",
    "405": "The address does not take this method: check method and url.",
    "406": "The server cannot answer as it is asked to: check header.Accept.",
    "407": "A proxy wants to know who sends: check the credentials in HTTP_PROXY or HTTPS_PROXY.",
    "410": "The address has been given up: check url.",
    "411": _NOT_THE_ROWS,
    "414": "The address is too long for the server: shorten url.",
    "415": "The server does not take this format: check body, contentType and compression.",
    "417": _NOT_THE_ROWS,
    "421": "The address leads to the wrong server: check the host in url.",
    "426": "The server wants another protocol: check the scheme of url.",
    "431": "The headers are too large for the server: shorten the header.* options.",
    "451": _NOT_THE_ROWS,
    "501": "The server does not know this method: check method.",
    "505": "The server does not take HTTP/1.1: put a proxy that does before it.",
}
_RETRYABLE_STATUSES = {"408", "425", *(str(status) for status in range(500, 600))} - {*_FATAL_STATUSES}
_THROTTLED_STATUSES = {"429"}
# What is left of 4xx speaks of what was sent: 400, 409, 413, 422 and all that are unknown.
_REJECTED_STATUSES = (
    {str(status) for status in range(400, 500)} - {*_FATAL_STATUSES} - _RETRYABLE_STATUSES - _THROTTLED_STATUSES
)
_REJECTED_REMEDIES = {
    "400": _WRONG_ROWS,
    "413": "Lower maxBatchSize or maxBatchSizeInBytes; a row that is too large by itself has to become shorter.",
    "422": _WRONG_ROWS,
}

ERRORS = ErrorTable.of(
    throttled=_THROTTLED_STATUSES,
    retryable=_RETRYABLE_STATUSES | {CONNECT, CONNECTION_LOST, IN_PROGRESS},
    rejected=_REJECTED_STATUSES,
    fatal={
        **_FATAL_STATUSES,
        CERTIFICATE: "Check the host in url, or name the file with the authority that signed the certificate in the "
        "environment variable SSL_CERT_FILE where the tasks run.",
        INVALID_REQUEST: "Check url and the header.* options.",
        PROXY: "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY where the tasks run: http:// and https:// work as they "
        "are, socks5:// needs httpx[socks] to be installed there.",
    },
)


def is_stored(status: int) -> bool:
    """Whether the status says that every row of the request is stored."""
    return 200 <= status < 300 and status != HTTPStatus.MULTI_STATUS


def refusal(
    options: HttpOptions, status: int, reason: str, text: str, retry_after_s: float | None, *, resent: bool = False
) -> RequestError:
    """The error for an answer that does not say stored; `text` is what the server says in its body.

    :param resent: whether the request was sent before under the same idempotency key. A 409 may then speak of that
        earlier sending, which is still at work (IETF draft idempotency-key-header, 2.6), and not of the rows
    """
    said = redact(text, options)
    quoted = f'; the server says "{said}"' if said else ""
    message = f"{reason or 'no reason given'} from {options.method} {options.shown_url}{quoted}."
    if resent and status == HTTPStatus.CONFLICT:
        return RequestError(IN_PROGRESS, message, retry_after_s)
    remedy = _REJECTED_REMEDIES.get(str(status))
    return RequestError(str(status), f"{message} {remedy}" if remedy else message, retry_after_s)
