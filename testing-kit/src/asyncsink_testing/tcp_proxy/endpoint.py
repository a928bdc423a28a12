"""One side of a connection over a plain socket, which alone can send a bare RST."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

import anyio

from asyncsink_testing.sockets import reset, send_all

_RECEIVE_BYTES = 256 * 1024
_MOST_DRAINED_READS = 64

Address = tuple[socket.AddressFamily, Any]
"""A family and what its sockets connect to."""


class PeerResetError(Exception):
    """The peer has reset the connection."""


class Endpoint:
    """Receives, sends and ends; a context manager that closes the socket."""

    def __init__(self, raw: socket.socket) -> None:
        raw.setblocking(False)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = raw
        self._broken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def receive(self) -> bytes:
        """The next bytes; none after a FIN.

        :raises PeerResetError: the peer reset the connection
        """
        while True:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError as error:
                raise PeerResetError(f"receiving failed: {error}") from error
            else:
                if not data and self._broken:
                    # The kernel tells of a reset once, and sending has been told.
                    raise PeerResetError("the connection was reset before")
                return data

    async def send_all(self, data: bytes) -> None:
        """Send everything.

        :raises PeerResetError: the peer has closed or reset the connection
        """
        try:
            await send_all(self._socket, data)
        except OSError as error:
            self._broken = True
            raise PeerResetError(f"sending failed: {error}") from error

    async def discard(self) -> None:
        """Drop what is received until the peer is gone."""
        with suppress(PeerResetError):
            while await self.receive():
                pass

    def finish(self) -> None:
        """Send a FIN and go on receiving."""
        with suppress(OSError):  # the peer may be gone already
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close with a FIN; if the peer goes on sending, an RST follows, as from any closed socket. May be repeated."""
        self.finish()
        # Else the kernel drops what it still has to send, for an RST: it tells the peer that bytes were never read.
        # A peer that never pauses is not waited for.
        with suppress(OSError):
            for _ in range(_MOST_DRAINED_READS):
                if not self._socket.recv(_RECEIVE_BYTES):
                    break
        self._socket.close()

    def reset(self) -> None:
        """Close with an RST. May be repeated."""
        reset(self._socket)


def bind(host: str, port: int) -> socket.socket:
    """A socket that has the port and does not listen yet: until it does, connections are refused."""
    with ExitStack() as stack:
        raw = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
        raw.setblocking(False)
        if os.name == "posix":
            # Else connections of before that the kernel still remembers would keep the port.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        raw.bind((host, port))
        stack.pop_all()
    return raw


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses to try, in order.

    :raises OSError: the host has none
    """
    try:
        # Numbers need no thread.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        try:
            return [(each[0], each[4]) for each in await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except OSError as error:
            error.add_note(f"the upstream's host is {host!r}; give one that this machine can resolve")
            raise
    return [(each[0], each[4]) for each in found]


async def connect(addresses: list[Address]) -> Endpoint:
    """A connection to the first address that accepts one.

    :raises OSError: none does; the reason is the last one's
    """
    *others, last = addresses
    for address in others:
        with suppress(OSError):
            return await _connect(address)
    return await _connect(last)


async def _connect(address: Address) -> Endpoint:
    family, target = address
    with ExitStack() as stack:
        endpoint = stack.enter_context(Endpoint(raw := socket.socket(family, socket.SOCK_STREAM)))
        try:
            raw.connect(target)
        except BlockingIOError:
            await anyio.wait_writable(raw)
            if code := raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, os.strerror(code)) from None
        stack.pop_all()
    return endpoint
