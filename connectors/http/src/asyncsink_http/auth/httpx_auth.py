"""A scheme of a user's own, or of a library: any ``httpx.Auth``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator, Sequence
from typing import Final

import httpx

from asyncsink.errors import ConfigurationError, RequestError
from asyncsink.plugins import load_given
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import TOKEN_REFUSED, TOKEN_UNAVAILABLE
from asyncsink_http.auth.authorizer import Send
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import Header, HttpRequest

# httpx writes these into its requests; here the transport does.
_TRANSPORTS: Final = frozenset({b"host", b"content-length", b"transfer-encoding"})

# Of an answer's, what says how the body was packed: it comes as it is.
_PACKED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})

# Where one challenge of a WWW-Authenticate header ends and the next begins (RFC 9110, 11.6.1).
_CHALLENGES: Final = re.compile(r",\s*(?=[\w-]+\s+\w+\s*=)")


def load_auth(path: str) -> httpx.Auth:
    """What the option ``auth`` names: an ``httpx.Auth``, or a class of one that needs no arguments.

    :raises ConfigurationError: the path does not load, or names something else
    """
    found = load_given("option 'auth':", path)
    if isinstance(found, type) and issubclass(found, httpx.Auth):
        try:
            return found()
        except Exception as error:
            raise ConfigurationError(
                f"option 'auth' = {path!r} cannot be made without arguments: {type(error).__name__}"
            ) from error
    if not isinstance(found, httpx.Auth):
        raise ConfigurationError(f"option 'auth' = {path!r} names neither an httpx.Auth nor a class of one")
    return found


class HttpxAuth:
    """Sends what an ``httpx.Auth`` makes of each request and of its answers, as ``httpx.AsyncClient`` would.

    It is shown the request as it goes, body and the options' headers included. What it asks of other origins, such as
    a token, goes without these headers.

    :param path: names it in messages
    :param headers: that are added to every request to the destination
    :param fetch: sends requests to others than the destination
    """

    def __init__(
        self, path: str, auth: httpx.Auth, headers: Sequence[Header], redaction: Redaction, fetch: Send
    ) -> None:
        self._path = path
        self._auth = auth
        self._headers = tuple(headers)
        self._redaction = redaction
        self._fetch = fetch

    async def exchange(self, request: HttpRequest, send: Send) -> HttpAnswer:
        own = request.with_headers(self._headers)
        flow = self._auth.async_auth_flow(
            first := httpx.Request(own.method, own.url, headers=list(own.headers), content=own.body)
        )
        destination = first.url
        try:
            asked = await self._step(flow.__anext__())
            if asked is None:
                raise RequestError(TOKEN_REFUSED, f"option 'auth' = {self._path!r} yields no request to send.")
            while True:
                self._check_address(asked, first, destination)
                answer = await self._sent(asked, own, destination, send)
                following = await self._step(flow.asend(_response(answer, asked)))
                if following is None:
                    return answer
                asked = following
        finally:
            await flow.aclose()

    def _check_address(self, asked: httpx.Request, first: httpx.Request, destination: httpx.URL) -> None:
        wrong = None
        if asked.url.scheme not in ("http", "https"):
            wrong = "asks for an address that is neither http nor https"
        elif asked is first and _origin(asked.url) != _origin(destination):
            # It carries the options' headers.
            wrong = "sends the request to another host, and what it may ask of others has to be a request of its own"
        if wrong is not None:
            raise RequestError(TOKEN_REFUSED, f"option 'auth' = {self._path!r} {wrong}.")

    async def _sent(self, asked: httpx.Request, own: HttpRequest, destination: httpx.URL, send: Send) -> HttpAnswer:
        await asked.aread()
        headers = tuple(each for each in asked.headers.raw if each[0].lower() not in _TRANSPORTS)
        # httpx writes some URLs in another way: what the user's code leaves alone stays as it was given.
        url = own.url if asked.url == destination else str(asked.url)
        made = HttpRequest(asked.method, url, headers, asked.content, own.id, own.attempt, own.rows)
        if _origin(asked.url) != _origin(destination):
            return await self._fetch(made)
        for header in set(headers) - set(own.headers):
            self._redaction.learn_header(header[1].decode("latin-1"))
        return await send(made)

    async def _step(self, step: Awaitable[httpx.Request]) -> httpx.Request | None:
        """The next request of a flow; None at its end."""
        try:
            return await step
        except StopAsyncIteration:
            return None
        except Exception as error:
            # The network's errors may pass; a bug is not an outage.
            code = TOKEN_UNAVAILABLE if isinstance(error, OSError | httpx.TransportError) else TOKEN_REFUSED
            said = self._redaction.hide(f"{type(error).__name__}: {error}").rstrip(".")
            raise RequestError(code, f"option 'auth' = {self._path!r} raised {said}.") from error


def _response(answer: HttpAnswer, asked: httpx.Request) -> httpx.Response:
    return httpx.Response(answer.status, headers=list(_headers(answer)), content=answer.body, request=asked)


def _headers(answer: HttpAnswer) -> Iterator[tuple[str, str]]:
    for name, value in answer.headers.items():
        if name == "www-authenticate":
            yield from ((name, challenge) for challenge in _CHALLENGES.split(value))
        elif name not in _PACKED:
            yield name, value


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # of a scheme's own port httpx makes None
