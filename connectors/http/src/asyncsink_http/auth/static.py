"""Who sends: the Authorization header."""

from __future__ import annotations

from base64 import b64encode

from asyncsink_http.options import HttpOptions


def authorization(options: HttpOptions) -> str | None:
    """The value of the Authorization header for bearer (RFC 6750) or basic (RFC 7617, UTF-8); None for neither."""
    if options.bearer_token is not None:
        return f"Bearer {options.bearer_token}"
    if options.username is not None:
        return "Basic " + b64encode(f"{options.username}:{options.password}".encode()).decode()
    return None
