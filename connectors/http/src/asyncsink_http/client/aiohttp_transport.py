"""Requests over aiohttp, whose parser is written in C."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from types import TracebackType
from typing import Final, Self

import aiohttp
import aiohttp.payload
import anyio
import httpx
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from asyncsink.errors import ConfigurationError
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import CONNECT, CONNECTION_LOST, INVALID_REQUEST
from asyncsink_http.answers.items import most_answer_bytes
from asyncsink_http.client.failures import proxy_error, request_error
from asyncsink_http.client.proxies import Proxies
from asyncsink_http.client.reading import by_name
from asyncsink_http.client.transport import CLOSE_TIMEOUT_S, IDLE_S
from asyncsink_http.client.trust import Trust
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import HttpRequest

_MAX_BYTES_AT_ONCE = 1024 * 1024  # aiohttp warns of longer bodies that are handed to it as bytes

# By the most specific class first; whatever else is raised of a connection leaves the outcome unknown.
_CODES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (aiohttp.ClientHttpProxyError, CONNECT),
    (aiohttp.ClientConnectorError, CONNECT),
    (aiohttp.ConnectionTimeoutError, CONNECT),
    (aiohttp.InvalidURL, INVALID_REQUEST),
    (ValueError, INVALID_REQUEST),
    (aiohttp.ClientError, CONNECTION_LOST),
    (TimeoutError, CONNECTION_LOST),
    (OSError, CONNECTION_LOST),
)
_ERRORS: Final = tuple(kind for kind, _ in _CODES)


class AiohttpTransport:
    """Sends requests in HTTP/1.1, each over a connection of its own, on asyncio's event loop.

    What :class:`~asyncsink_http.client.transport.Transport` says holds, with one exception of aiohttp's: PUT and
    DELETE, which do the same however often they are sent, go out once more where a kept connection turns out closed.
    """

    def __init__(self, options: HttpOptions, redaction: Redaction) -> None:
        self._redaction = redaction
        self._url = options.url
        self._origin = _url(options.url).origin()
        self._unix_socket = options.unix_socket
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=options.connect_timeout_s)
        self._most_bytes = most_answer_bytes(options)
        self._proxies = Proxies(options)
        self._trust = Trust(options)
        self._session: aiohttp.ClientSession
        self._local_session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        _check_loop()
        await self._trust.context_for(self._url)
        self._session = self._new_session(aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S))
        if self._unix_socket is not None:
            self._local_session = self._new_session(
                aiohttp.UnixConnector(self._unix_socket, limit=0, keepalive_timeout=IDLE_S)
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
            await self._session.close()
            if self._local_session is not None:
                await self._local_session.close()

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request and read its answer.

        :raises RequestError: there was no complete answer; its code is one of :mod:`asyncsink_http.answers.codes`
        """
        url = _url(request.url)
        # Only the destination listens there, and not who hands out tokens for it.
        is_local = self._local_session is not None and url.origin() == self._origin
        session = self._local_session if self._local_session is not None and is_local else self._session
        proxy = None if is_local else self._proxy(request.url)
        context = await self._trust.context_for(request.url)
        try:
            async with session.request(
                request.method,
                url,
                headers=_headers(request),
                data=_body(request.body),
                allow_redirects=False,
                proxy=proxy,
                ssl=context,
            ) as response:
                return await _read(response, self._most_bytes)
        except _ERRORS as error:
            code = next(code for kind, code in _CODES if isinstance(error, kind))
            if isinstance(error, aiohttp.ClientHttpProxyError) and error.status == 407:
                raise proxy_error(self._proxies.source, request.url, "it answers 407") from None
            failure = request_error(error, code, request.url, self._redaction)
            # What aiohttp refuses it quotes, and of an answer that it cannot read it shows the whole address.
            is_telling = failure.code == INVALID_REQUEST or isinstance(error, aiohttp.ClientResponseError)
            raise failure from None if is_telling else error

    def _new_session(self, connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=["Accept"],
        )

    def _proxy(self, url: str) -> URL | None:
        proxy = self._proxies.proxy_for(url)
        if proxy is None:
            return None
        if proxy.is_socks:
            raise proxy_error(self._proxies.source, url, "transport=aiohttp has no SOCKS")
        if proxy.scheme == "https":
            # aiohttp would use the destination's context for it, which may show a certificate of ours.
            raise proxy_error(self._proxies.source, url, "transport=aiohttp has no TLS of its own for proxies")
        if proxy.credentials is None:
            return URL(proxy.url)
        self._redaction.learn(*proxy.credentials)
        user, password = proxy.credentials
        return URL(proxy.url).with_user(user).with_password(password)


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(
            "option 'transport' = 'aiohttp' needs the event loop of asyncio, and this is another one, such as trio's; "
            "leave transport out, or run the program by anyio.run(main, backend='asyncio')"
        ) from None


@lru_cache(maxsize=256)
def _url(url: str) -> URL:
    # As it stands: a key that is signed with its escapes must keep them. What is not ASCII has to be escaped, by what
    # does it for the other transport too; so has a blank, which a redirect may lead to.
    return URL(url if url.isascii() and " " not in url else str(httpx.URL(url)), encoded=True)


def _headers(request: HttpRequest) -> CIMultiDict[str]:
    # aiohttp writes headers in UTF-8: what is not ASCII must be that already.
    try:
        return CIMultiDict((name.decode("ascii"), value.decode()) for name, value in request.headers)
    except UnicodeDecodeError:
        raise ValueError("transport=aiohttp cannot send a header's value in Latin-1") from None


class _LongBody(aiohttp.payload.Payload):
    """A body that is whole whenever it is sent.

    Of a file, which aiohttp asks for instead, some of its releases send only what has not been read yet where they send
    a PUT once more: an empty body, which the server may store.
    """

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._body = body
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._body.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        left = memoryview(self._body)
        while left:
            await writer.write(left[:_MAX_BYTES_AT_ONCE])
            left = left[_MAX_BYTES_AT_ONCE:]


def _body(body: bytes) -> bytes | _LongBody | None:
    return _LongBody(body) if len(body) > _MAX_BYTES_AT_ONCE else body or None


async def _read(response: aiohttp.ClientResponse, most_bytes: int) -> HttpAnswer:
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > most_bytes:
            response.close()
            break
    version = response.version
    return HttpAnswer(
        response.status,
        response.reason or "",
        by_name(response.raw_headers),
        bytes(body[:most_bytes]),
        is_cut=len(body) > most_bytes,
        http_version=f"HTTP/{version.major}.{version.minor}" if version is not None else "HTTP/1.1",
    )
