"""What HTTP/2 needs of a connection: that both sides mean it, and that nobody leaves half a frame on it."""

from __future__ import annotations

import ssl
from typing import Any

import anyio
import httpcore

from asyncsink_http.client.backend import Backend
from asyncsink_http.client.failures import HttpVersionError
from asyncsink_http.client.http2_connection import improve
from asyncsink_http.client.transport import CLOSE_TIMEOUT_S


class Http2Backend(Backend):
    """Opens connections for HTTP/2.

    :param context: of the destination, which has to choose HTTP/2; a proxy on the way has another, and need not
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__()
        self.context = context

    def improve(self) -> None:
        """Make the connection the better one; it can be told only once it sends, and must be before it reads."""
        improve(self.connection)

    def _kept(self, stream: httpcore.AsyncNetworkStream) -> httpcore.AsyncNetworkStream:
        return _SharedStream(super()._kept(stream), self)


class _SharedStream(httpcore.AsyncNetworkStream):
    """Bytes of many requests: what breaks in the middle of a frame breaks for all of them, at once."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, backend: Http2Backend) -> None:
        self._inner = inner
        self._backend = backend

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._backend.improve()
        try:
            await self._inner.write(buffer, timeout)
        except BaseException:
            # A request that is cancelled here has sent a part of its frame, and with it a part of others' frames.
            # The server would read what follows as the rest of them.
            with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
                await self._inner.aclose()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        if ssl_context is not self._backend.context:
            return _SharedStream(await self._inner.start_tls(ssl_context, server_hostname, timeout), self._backend)
        # Both, though only the first will do: many servers end a handshake that offers nothing they speak, and what
        # they end it with does not say why.
        ssl_context.set_alpn_protocols(["h2", "http/1.1"])
        stream = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        chosen = stream.get_extra_info("ssl_object").selected_alpn_protocol()
        if chosen != "h2":
            await stream.aclose()
            raise httpcore.ConnectError(f"it chose {chosen or 'no protocol'}") from HttpVersionError()
        return _SharedStream(stream, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
