"""Redirects that stay with the server."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import SplitResult, urldefrag, urljoin, urlsplit

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.auth.authorizer import Send
from asyncsink_http.requests.request import HttpRequest

_SAME_METHOD: Final = frozenset({307, 308})  # RFC 9110, 15.4: the others may make a GET of it, which stores nothing
_MOST_REDIRECTS = 5
_PORTS: Final = {"http": 80, "https": 443}


async def send_following(request: HttpRequest, send: Send) -> HttpAnswer:
    """Send a request, and send it again to where the server moves it, with the same body.

    Only 307 and 308 are followed, at most five of them, and only to the same scheme, host and port: nobody else gets
    rows or credentials. The answer to any other redirect is returned as it is.

    :param send: adds credentials, which are made anew for each address
    """
    answer = await send(request)
    for _ in range(_MOST_REDIRECTS):
        target = _target(request.url, answer)
        if target is None:
            break
        request = replace(request, url=target)
        answer = await send(request)
    return answer


def _target(url: str, answer: HttpAnswer) -> str | None:
    """Where the same request may go; None if nowhere."""
    location = answer.headers.get("location")
    if answer.status not in _SAME_METHOD or not location:
        return None
    try:
        target = urldefrag(urljoin(url, location)).url
        return target if _origin(urlsplit(target)) == _origin(urlsplit(url)) else None
    except ValueError:
        return None


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    if parts.username is not None or parts.password is not None:
        raise ValueError("who sends is not for the server to say")
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
