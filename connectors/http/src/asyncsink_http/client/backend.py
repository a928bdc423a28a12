"""What connections of httpcore run over, kept in sight until they are closed."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore


class Backend(httpcore.AsyncNetworkBackend):
    """Opens what one connection runs over, and closes it whatever state that connection is in.

    A connection of httpcore that is cancelled while it agrees on TLS, or on its way through a proxy, forgets the socket
    that is open by then.

    :ivar connection: what runs over it
    """

    connection: httpcore.AsyncConnectionInterface

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()
        self._opened: list[httpcore.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return self._kept(await self._inner.connect_tcp(host, port, timeout, local_address, socket_options))

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return self._kept(await self._inner.connect_unix_socket(path, timeout, socket_options))

    def _kept(self, stream: httpcore.AsyncNetworkStream) -> httpcore.AsyncNetworkStream:
        """What the connection is given of a stream that is open."""
        self._opened.append(stream)
        return stream

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def aclose(self) -> None:
        """Close what is open; to close it again does nothing."""
        for stream in self._opened:
            await stream.aclose()
