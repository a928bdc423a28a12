"""Credentials that stand among the options."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.auth.authorizer import Send
from asyncsink_http.options import HttpOptions
from asyncsink_http.requests.request import Header, HttpRequest


class StaticCredentials:
    """Adds the same headers to every request."""

    def __init__(self, headers: Sequence[Header]) -> None:
        self._headers = tuple(headers)

    async def exchange(self, request: HttpRequest, send: Send) -> HttpAnswer:
        return await send(request.with_headers(self._headers))


def authorization(options: HttpOptions, token: str | None) -> str | None:
    """The value of the Authorization header for a token (RFC 6750) or basic (RFC 7617, UTF-8); None for neither."""
    if token is not None:
        return f"{options.authorization_scheme or 'Bearer'} {token}"
    if options.username is not None:
        return "Basic " + b64encode(f"{options.username}:{options.password}".encode()).decode()
    return None
