"""What a URL, and the token for it, must look like; no error shows what may be secret."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from asyncsink.errors import ConfigurationError

# RFC 6750, 2.1. Anything else httpx would refuse, and quote.
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")


def checked_url(name: str, url: str) -> str:
    """The URL of a metadata service.

    :param name: what messages call it
    :raises ConfigurationError: it is none, or has a user before its host
    """
    if not url.isprintable() or " " in url:
        raise ConfigurationError(f"{name} has a blank or a line break in it; write the URL without")
    parts = _split(name, url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise ConfigurationError(
            f"{name} = {shown!r} must be http:// or https://, a host, and no user before it; give credentials as a "
            "bearer token"
        )
    return url


def checked_token(name: str, token: str) -> str:
    """A bearer token.

    :param name: what messages call it
    :raises ConfigurationError: it cannot stand in a header
    """
    if not _TOKEN.fullmatch(token):
        raise ConfigurationError(
            f"{name} is no bearer token: that is letters, digits and - . _ ~ + /, and = at its end"
        )
    return token


def _split(name: str, url: str) -> SplitResult:
    # Without the text or the errors, which quote it: a user and a password with a slash look like host and port.
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ConfigurationError(
            f"{name} cannot be read: its host, or the port after it, is none; write for example "
            "https://host:8443/streams, and credentials as a bearer token"
        ) from None
    return parts
