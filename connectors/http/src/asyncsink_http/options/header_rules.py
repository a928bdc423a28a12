"""What a header may be named and hold, and which ones are not for a user to set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from asyncsink.errors import ConfigurationError

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110, 5.5: no line break, nothing beyond Latin-1

ASCII_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")  # as aiohttp can send it, which writes headers in UTF-8

CREDENTIAL_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
"""Headers that no row may have a say in."""

# What the connector and its client set themselves: two values of one header are a riddle for every server.
OWN_HEADERS: Final[Mapping[str, str]] = {
    "connection": "the client sets it",
    "content-encoding": "set option 'compression'",
    "content-length": "the client sets it",
    "content-type": "set option 'contentType'",
    "expect": "the client waits for no interim answer",
    "host": "set it by option 'url'",
    "idempotency-key": "the connector sets it; idempotencyKey=false leaves the header to you",
    "keep-alive": "the client sets it",
    "proxy-connection": "the client sets it",
    "te": "the client sets it",
    "trailer": "the client sends none",
    "transfer-encoding": "the client sets it",
    "upgrade": "set option 'httpVersion'",
}


def check_header_name(name: str, *, idempotency_key: bool) -> None:
    """Check the name of an option ``header.<name>``.

    :param idempotency_key: whether the connector sends that header itself
    :raises ConfigurationError: no header has that name, or it is not for a user to set
    """
    if not HEADER_NAME.fullmatch(name):
        raise ConfigurationError(f"option 'header.{name}' names no header; letters, digits and - are allowed")
    remedy = OWN_HEADERS.get(name.lower())
    if remedy is not None and (name.lower() != "idempotency-key" or idempotency_key):
        raise ConfigurationError(f"option 'header.{name}' is not for you to set: {remedy}")


def is_header_value(value: str) -> bool:
    """Whether a header can carry the value as it is."""
    return _VALUE.fullmatch(value) is not None and value == value.strip(" \t")


def check_header_value(option_name: str, value: str) -> None:
    """:raises ConfigurationError: no header can carry the value, which the error does not quote"""
    if not _VALUE.fullmatch(value):
        raise ConfigurationError(
            f"option '{option_name}' holds a line break or a character beyond Latin-1; a header allows neither"
        )
    if value != value.strip(" \t"):
        raise ConfigurationError(
            f"option '{option_name}' begins or ends with a blank, which no header can carry; take it away"
        )
