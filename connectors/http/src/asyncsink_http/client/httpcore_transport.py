"""One connection for each request in flight, over httpx.

httpx's own pool looks at every connection for every request, which makes a request cost the more the more of them are
in flight (6.5 ms of CPU at 64). Here each request takes a client that holds a single connection from a list of free
ones, the one that was used last first, so that only as many stay warm as are needed.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import anyio
import httpx

from asyncsink.errors import RequestError
from asyncsink_http.answers.answer import HttpAnswer
from asyncsink_http.answers.codes import CERTIFICATE, CONNECT, CONNECTION_LOST, INVALID_REQUEST, PROXY
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import HttpRequest

_MAX_ANSWER_BYTES = 64 * 1024
_CLOSE_TIMEOUT_S = 2.0
# httpx gives a connection up that has been idle for 5 s: all of them at each micro-batch of a stream that is triggered
# every ten. Longer than Spark keeps a worker without work, shorter than balancers and NAT gateways remember a silent
# connection (240 s and more); one that the server has closed meanwhile is noticed and replaced.
_IDLE_S = 120.0
_NO_COOKIES = DefaultCookiePolicy(allowed_domains=[])

# By the most specific class first; whatever else httpx raises of the transport leaves the outcome unknown.
_CODES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (httpx.ConnectError, CONNECT),
    (httpx.ConnectTimeout, CONNECT),
    (httpx.ProxyError, CONNECT),
    (httpx.UnsupportedProtocol, INVALID_REQUEST),
    (httpx.LocalProtocolError, INVALID_REQUEST),
    (httpx.InvalidURL, INVALID_REQUEST),
    (httpx.HTTPError, CONNECTION_LOST),
)


class SlotTransport:
    """Sends requests, each over a connection of its own; an async context manager that closes all of them.

    There are as many connections as there have been requests in flight at once, and not more. Redirects are not
    followed, nothing is sent again, cookies are not kept, and environment variables name proxies and authorities as
    httpx reads them. There is no deadline beside the one for connecting: whoever calls :meth:`send` has it.
    """

    def __init__(self, options: HttpOptions, redaction: Redaction) -> None:
        self._redaction = redaction
        self._url = httpx.URL(options.url)
        self._timeout = httpx.Timeout(None, connect=options.connect_timeout_s)
        # A context of its own for each client would cost 10 ms and a copy of all authorities. Without TLS there is
        # nobody to trust, and one that trusts nobody costs nothing.
        is_https = self._url.scheme == "https"
        self._ssl_context = httpx.create_ssl_context() if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._free: list[httpx.AsyncClient] = []
        self._busy: set[httpx.AsyncClient] = set()
        self._filter = _HidesQuery(self._url, options.shown_url)

    @property
    def connections(self) -> int:
        """Slots that exist now, free and busy."""
        return len(self._free) + len(self._busy)

    async def __aenter__(self) -> Self:
        logging.getLogger("httpx").addFilter(self._filter)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        clients = [*self._free, *self._busy]
        self._free.clear()
        self._busy.clear()
        for client in clients:
            await _close(client)
        logging.getLogger("httpx").removeFilter(self._filter)

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request and read its answer.

        :raises RequestError: there was no complete answer; its code is one of :mod:`asyncsink_http.answers.codes`
        """
        async with self._slot(request.url) as client:
            try:
                built = client.build_request(
                    request.method, _url(request.url), content=request.body, headers=list(request.headers)
                )
                response = await client.send(built, stream=True)
                try:
                    return await _read(response)
                finally:
                    await response.aclose()
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                failure = self._request_error(error, request.url)
                # What httpx refuses it quotes, and that may be a header's value.
                raise failure from None if failure.code == INVALID_REQUEST else error

    @asynccontextmanager
    async def _slot(self, url: str) -> AsyncIterator[httpx.AsyncClient]:
        """A client for one request; one whose request did not end well is closed and not used again."""
        client = self._free.pop() if self._free else self._new_client(url)
        self._busy.add(client)
        try:
            yield client
        except BaseException:
            self._busy.discard(client)
            await _close(client)
            raise
        self._busy.discard(client)
        self._free.append(client)

    def _new_client(self, url: str) -> httpx.AsyncClient:
        try:
            return httpx.AsyncClient(
                timeout=self._timeout,
                verify=self._ssl_context,
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_IDLE_S),
                cookies=CookieJar(_NO_COOKIES),
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            # A client asks the environment for proxies when it is made, and its errors quote their addresses.
            raise RequestError(PROXY, f"{_EVENTS[PROXY]} {_peer(url)} ({type(error).__name__}).") from None

    def _request_error(self, error: Exception, url: str) -> RequestError:
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        if code == CONNECT and _certificate_error(error) is not None:
            code = CERTIFICATE
        text = str(error)
        if code == INVALID_REQUEST:
            text = re.split(r"[:\s]+b?['\"]", text, maxsplit=1)[0]
        said = self._redaction.hide(text) or type(error).__name__
        return RequestError(code, f"{_EVENTS[code]} {_peer(url)}: {said.rstrip('.')}.")


class _HidesQuery(logging.Filter):
    """Keeps secrets in the query of `url` out of what httpx logs of every request at level INFO."""

    def __init__(self, url: httpx.URL, shown_url: str) -> None:
        super().__init__()
        self._url = url
        self._shown_url = shown_url

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                self._shown_url if isinstance(arg, httpx.URL) and arg == self._url else arg for arg in record.args
            )
        return True


_EVENTS = {
    CONNECT: "no connection to",
    CONNECTION_LOST: "the connection broke before the answer of",
    CERTIFICATE: "the certificate is not trusted of",
    INVALID_REQUEST: "no request can be sent to",
    PROXY: "the environment names a proxy that cannot be used for",
}


_url = lru_cache(maxsize=256)(httpx.URL)  # to read one takes 14 us


def _peer(url: str) -> str:
    """The server as messages name it."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return f"host {parts.hostname!r}, port {port}"


async def _read(response: httpx.Response) -> HttpAnswer:
    """The answer with the beginning of its body; the connection lives on if that was all of it."""
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part
            if len(body) > _MAX_ANSWER_BYTES:
                # The loop then ends by itself, with an error; leaving it would leave httpx's generators half run.
                await response.aclose()
    except httpx.HTTPError:
        if len(body) <= _MAX_ANSWER_BYTES:
            raise
    return HttpAnswer(
        response.status_code,
        response.reason_phrase,
        dict(response.headers.items()),
        bytes(body[:_MAX_ANSWER_BYTES]),
        is_cut=len(body) > _MAX_ANSWER_BYTES,
        http_version=response.http_version,
    )


def _certificate_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """The certificate's error among the causes of an error of httpx."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


async def _close(client: httpx.AsyncClient) -> None:
    # Also after a cancellation: a connection with half a request on it must not stay open.
    with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True):
        await client.aclose()
