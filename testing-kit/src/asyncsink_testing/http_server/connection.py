"""One accepted connection over a plain socket.

anyio's socket streams end a connection in their own way (a FIN comes before everything else). A server that must also
send a bare RST needs the socket itself; ``anyio.wait_readable`` is all it needs of the event loop.
"""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Self

import anyio

from asyncsink_testing.sockets import reset, send_all

_RECEIVE_BYTES = 256 * 1024


class ConnectionGoneError(Exception):
    """The client closed or reset the connection in the middle of something."""


class Connection:
    """Reads and writes bytes; a context manager that closes the socket."""

    def __init__(self, raw: socket.socket, number: int) -> None:
        raw.setblocking(False)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number = number
        self._socket = raw
        self._buffer = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def read_until(self, mark: bytes, limit: int) -> bytes | None:
        """The bytes up to and including `mark`; None if the connection ended before the first of them.

        :raises ConnectionGoneError: it ended later, or `limit` bytes came without the mark
        """
        searched = 0
        while (found := self._buffer.find(mark, searched)) < 0:
            if len(self._buffer) > limit:
                raise ConnectionGoneError(f"{limit} bytes came without {mark!r}")
            searched = max(0, len(self._buffer) - len(mark) + 1)
            if not await self._fill():
                if not self._buffer:
                    return None
                raise ConnectionGoneError("the client closed the connection within a request")
        return self._take(found + len(mark))

    async def read_exactly(self, count: int) -> bytes:
        """The next `count` bytes.

        :raises ConnectionGoneError: the connection ended before them
        """
        while len(self._buffer) < count:
            if not await self._fill():
                raise ConnectionGoneError("the client closed the connection within a request")
        return self._take(count)

    async def send_all(self, data: bytes) -> None:
        """Send everything.

        :raises ConnectionGoneError: the client has closed or reset the connection
        """
        try:
            await send_all(self._socket, data)
        except OSError as error:
            raise ConnectionGoneError(f"sending failed: {error}") from error

    async def wait_gone(self) -> None:
        """Return when the client has closed or reset the connection; what it sends meanwhile is kept."""
        while await self._fill():
            pass

    def close(self) -> None:
        """Close the connection with a FIN. May be called twice."""
        self._socket.close()

    def reset(self) -> None:
        """Close the connection with an RST. May be called twice."""
        reset(self._socket)

    def _take(self, count: int) -> bytes:
        data = bytes(memoryview(self._buffer)[:count])
        del self._buffer[:count]
        return data

    async def _fill(self) -> bool:
        while True:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError:
                return False  # a reset: the client is gone as it is after a FIN
            else:
                self._buffer += data
                return bool(data)
