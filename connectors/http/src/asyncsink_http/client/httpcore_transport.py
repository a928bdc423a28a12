"""Requests over connections of httpcore, the engine of httpx.

Of httpx.AsyncClient nothing else is needed (redirects, cookies, hooks), and it makes a request cost half as much again.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import httpcore
import httpx

from asyncsink.errors import RequestError
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import CONNECT, CONNECTION_LOST, INVALID_REQUEST, PROXY
from asyncsink_http.answers.items import most_answer_bytes
from asyncsink_http.client.connecting import Address, Connecting, address_of
from asyncsink_http.client.failures import request_error
from asyncsink_http.client.reading import read_answer
from asyncsink_http.client.slots import Slot, Slots
from asyncsink_http.client.trust import Trust
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import HttpRequest

_MAX_DROPPED_BYTES = 16 * 1024 * 1024
_MOST_STREAMS = 16  # requests that a broken connection takes along at most
_MOST_CLOSED = 3  # connections in a row that take no request any more

# By the most specific class first; whatever else is raised of a connection leaves the outcome unknown.
_CODES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (httpcore.ConnectError, CONNECT),
    (httpcore.ConnectTimeout, CONNECT),
    (httpcore.ProxyError, CONNECT),
    (httpcore.ConnectionNotAvailable, CONNECT),
    (httpcore.UnsupportedProtocol, INVALID_REQUEST),
    (httpcore.LocalProtocolError, INVALID_REQUEST),
    (httpx.InvalidURL, INVALID_REQUEST),
    (httpcore.NetworkError, CONNECTION_LOST),
    (httpcore.ProtocolError, CONNECTION_LOST),
    (httpcore.TimeoutException, CONNECTION_LOST),
)
_ERRORS: Final = tuple(kind for kind, _ in _CODES)

# Whose texts quote the server, or the proxy.
_TELLING: Final = (httpcore.ProtocolError, httpcore.ProxyError)

# Nothing tells the two apart: such a server may answer in HTTP/1.1, or in none, or close the connection without a word.
_UNASKED: Final = (
    "With httpVersion=2 no server at an http:// address is asked whether it speaks HTTP/2, and one that does not ends "
    "connections so."
)


class HttpcoreTransport:
    """Sends requests in HTTP/1.1, each over a connection of its own, or in HTTP/2, where 16 share one.

    There are as many connections as there have been requests in flight at once, or as many sixteenths of them, and not
    more. What :class:`~asyncsink_http.client.transport.Transport` says holds.
    """

    def __init__(self, options: HttpOptions, redaction: Redaction) -> None:
        self._url = options.url
        self._redaction = redaction
        self._most_bytes = most_answer_bytes(options)
        self._is_http2 = options.http_version == "2"
        self._extensions = {"timeout": {"connect": options.connect_timeout_s}}
        self._slots = Slots(_MOST_STREAMS if self._is_http2 else 1)
        self._connecting = Connecting(options, redaction)
        self._trust = Trust(options)

    @property
    def connections(self) -> int:
        """Connections that exist now, free and busy."""
        return len(self._slots)

    async def __aenter__(self) -> Self:
        await self._trust.context_for(self._url)  # a file that cannot be used is told of before any row is sent
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._slots.aclose()

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request and read its answer.

        :raises RequestError: there was no complete answer; its code is one of :mod:`asyncsink_http.answers.codes`
        """
        try:
            return await self._send(request, address_of(request.url))
        except _ERRORS as error:
            failure = self._failure(error, request.url)
            # What the client refuses it quotes, and of an answer that it cannot read the bytes: both may hold a secret.
            is_telling = failure.code == INVALID_REQUEST or isinstance(error, _TELLING)
            raise failure from None if is_telling else error

    async def _send(self, request: HttpRequest, address: Address) -> HttpAnswer:
        headers = _headers(request, address.host)
        built = httpcore.Request(
            request.method, address.url, headers=headers, content=request.body, extensions=self._extensions
        )
        for _ in range(_MOST_CLOSED - 1):
            # A server that is about to close says so in HTTP/2, and that it has not looked at this request.
            with suppress(httpcore.ConnectionNotAvailable):
                return await self._send_over_a_slot(built, request.url, address)
        return await self._send_over_a_slot(built, request.url, address)

    async def _send_over_a_slot(self, request: httpcore.Request, url: str, address: Address) -> HttpAnswer:
        context = await self._trust.context_for(url)
        slot = await self._slots.take(address.origin, lambda: self._connecting.connect(url, context))
        try:
            answer = await self._exchange(slot, request)
        except BaseException:
            await self._slots.retire(slot)
            raise
        await self._slots.give_back(slot)
        return answer

    async def _exchange(self, slot: Slot, request: httpcore.Request) -> HttpAnswer:
        response = await slot.connection.handle_async_request(request)
        slot.stream = response.extensions["network_stream"]
        # In HTTP/2 to close the connection over an answer that is too long would take others along.
        dropped = _MAX_DROPPED_BYTES if self._is_http2 else 0
        return await read_answer(response, slot.connection, self._most_bytes, dropped)

    def _failure(self, error: Exception, url: str) -> RequestError:
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        if isinstance(error, httpcore.ProxyError) and str(error).startswith("407"):
            code = PROXY
        failure = request_error(error, code, url, self._redaction)
        if self._is_http2 and code == CONNECTION_LOST and url.startswith("http:"):
            return RequestError(code, f"{failure.message} {_UNASKED}")
        return failure


def _headers(request: HttpRequest, host: bytes) -> list[tuple[bytes, bytes]]:
    headers = [(b"Host", host), *request.headers]
    if request.body or request.method != "DELETE":
        headers.append((b"Content-Length", b"%d" % len(request.body)))
    return headers
