"""Connections of httpcore: directly, through a proxy, or over a Unix socket."""

from __future__ import annotations

import logging
import ssl
from functools import lru_cache
from typing import Final, NamedTuple

import httpcore
import httpx

from asyncsink_http.client.backend import Backend
from asyncsink_http.client.failures import proxy_error
from asyncsink_http.client.proxies import Proxies
from asyncsink_http.client.transport import IDLE_S
from asyncsink_http.options import HttpOptions
from asyncsink_http.options.proxy_url import Proxy
from asyncsink_http.redaction import Redaction
from asyncsink_http.urls import PORTS

# At level DEBUG these write what a proxy is told of who asks, and every header of a request.
_TELLING: Final = ("httpcore.socks", "hpack.hpack", "hpack.table", "h2.config")


class Opening(NamedTuple):
    """A connection that its first request opens, and what closes it even if that request is cancelled meanwhile."""

    connection: httpcore.AsyncConnectionInterface
    backend: Backend


class Connecting:
    """Makes connections to origins, each to be opened by its first request."""

    def __init__(self, options: HttpOptions, redaction: Redaction) -> None:
        self._redaction = redaction
        self._is_http2 = options.http_version == "2"
        self._proxies = Proxies(options)
        self._unix_socket = options.unix_socket
        self._origin = address_of(options.url).origin
        for name in _TELLING:
            logging.getLogger(name).addFilter(_hides_debug)

    def connect(self, url: str, context: ssl.SSLContext) -> Opening:
        """A connection to the origin of `url`.

        :param context: whom to trust there
        :raises RequestError: with the code PROXY, where a proxy is named that cannot be used
        """
        address = address_of(url)
        # Only the destination listens there, and not who hands out tokens for it.
        is_local = self._unix_socket is not None and address.origin == self._origin
        backend = self._backend(context)
        pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            proxy=None if is_local else self._proxy(url),
            keepalive_expiry=IDLE_S,
            http1=not self._is_http2,
            http2=self._is_http2,
            uds=self._unix_socket if is_local else None,
            network_backend=backend,
        )
        # Of httpcore's pool only how it connects: slots do the rest.
        connection = backend.connection = pool.create_connection(address.url.origin)
        return Opening(connection, backend)

    def _backend(self, context: ssl.SSLContext) -> Backend:
        if not self._is_http2:
            return Backend()
        from asyncsink_http.client.http2_backend import Http2Backend

        return Http2Backend(context)

    def _proxy(self, url: str) -> httpcore.Proxy | None:
        proxy = self._proxies.proxy_for(url)
        if proxy is None:
            return None
        if proxy.credentials is not None:
            self._redaction.learn(*proxy.credentials)
        if (reason := self._unfit(proxy, url)) is not None:
            raise proxy_error(self._proxies.source, url, reason)
        # The environment's authorities, and not the destination's context: that may show a certificate of ours.
        context = httpx.create_ssl_context() if proxy.scheme == "https" else None
        try:
            return httpcore.Proxy(proxy.url, auth=proxy.credentials, ssl_context=context)
        except (UnicodeError, TypeError) as error:
            raise proxy_error(self._proxies.source, url, type(error).__name__) from None

    def _unfit(self, proxy: Proxy, url: str) -> str | None:
        if self._is_http2 and url.startswith("http:") and not proxy.is_socks:
            return "it forwards requests to http:// addresses in HTTP/1.1, and httpVersion=2 is set"
        if proxy.is_socks:
            try:
                import socksio  # noqa: F401
            except ImportError:
                return "SOCKS needs the extra asyncsink-http[socks]"
        return None


def _hides_debug(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG


class Address(NamedTuple):
    """A URL as httpcore wants it, and as requests for it name the host."""

    url: httpcore.URL
    origin: tuple[bytes, bytes, int]
    host: bytes


@lru_cache(maxsize=256)  # to read one takes 14 us
def address_of(url: str) -> Address:
    """Where a URL leads.

    :raises httpx.InvalidURL: it is none
    """
    read = httpx.URL(url)
    port = read.port or PORTS[read.scheme]
    found = httpcore.URL(scheme=read.raw_scheme, host=read.raw_host, port=read.port, target=read.raw_path)
    return Address(found, (read.raw_scheme, read.raw_host, port), read.netloc)
