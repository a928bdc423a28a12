"""Redirects that stay with the server."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.auth.authorizer import Send
from asyncsink_http.requests.request import HttpRequest
from asyncsink_http.urls import origin_of

_SAME_METHOD: Final = frozenset({307, 308})  # RFC 9110, 15.4: the others may make a GET of it, which stores nothing
_MOST_REDIRECTS = 5


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
        # Who sends is not for the server to say.
        is_same = "@" not in urlsplit(target).netloc and origin_of(target) == origin_of(url)
    except ValueError:
        return None
    return target if is_same else None
