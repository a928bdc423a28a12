"""What answers and broken connections mean: one table, and the words for them."""

from __future__ import annotations

import re
from http import HTTPStatus

from asyncsink.errors import RequestError
from asyncsink.failures import ErrorTable
from asyncsink_http.options import HttpOptions

CONNECT = "CONNECT"
"""No connection came about."""
CONNECTION_LOST = "CONNECTION_LOST"
"""The connection broke before the answer was complete: whether the rows are stored is unknown."""
CERTIFICATE = "CERTIFICATE"
"""The server's TLS certificate is not trusted."""
INVALID_REQUEST = "INVALID_REQUEST"
"""The client refused to send the request."""

_MESSAGE_CHARACTERS = 200

_CREDENTIALS = "Check bearerToken, or username and password, or header.Authorization."
_REDIRECTION = "Redirects are not followed: set url to the address that answers itself."
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

ERRORS = ErrorTable.of(
    throttled=_THROTTLED_STATUSES,
    retryable=_RETRYABLE_STATUSES | {CONNECT, CONNECTION_LOST},
    rejected=_REJECTED_STATUSES,
    fatal={
        **_FATAL_STATUSES,
        CERTIFICATE: "Check the host in url, or name the file with the authority that signed the certificate in the "
        "environment variable SSL_CERT_FILE where the tasks run.",
        INVALID_REQUEST: "Check url and the header.* options.",
    },
)


def is_stored(status: int) -> bool:
    """Whether the status says that every row of the request is stored."""
    return 200 <= status < 300 and status != HTTPStatus.MULTI_STATUS


def refusal(options: HttpOptions, status: int, reason: str, text: str, retry_after_s: float | None) -> RequestError:
    """The error for an answer that does not say stored; `text` is what the server says in its body."""
    said = redact(text, options)
    quoted = f'; the server says "{said}"' if said else ""
    message = f"{reason or 'no reason given'} from {options.method} {options.shown_url}{quoted}."
    return RequestError(str(status), message, retry_after_s)


def redact(text: str, options: HttpOptions) -> str:
    """The first 200 characters of a text in one line, without the secrets among the options."""
    for secret in options.secrets:
        text = text.replace(secret, "***")
    line = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text).strip()
    return line if len(line) <= _MESSAGE_CHARACTERS else line[: _MESSAGE_CHARACTERS - 1] + "…"
