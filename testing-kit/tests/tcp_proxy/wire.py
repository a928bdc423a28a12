"""A bare client before the proxy and a bare echo server behind it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from anyio.from_thread import start_blocking_portal

from asyncsink_testing.tcp_proxy import BlockingTcpProxy, FaultyTcpProxy, TcpFault
from asyncsink_testing.tcp_proxy.fault import Ending

HOUR_S = 3600.0


def reset(raw: socket.socket) -> None:
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


class Peer:
    """A blocking socket that says how its connection ended."""

    def __init__(self, raw: socket.socket) -> None:
        raw.settimeout(10)
        self.socket = raw

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self, count: int) -> bytes:
        """So many bytes, or fewer if the connection ends by a FIN."""
        data = b""
        while len(data) < count and (part := self.socket.recv(count - len(data))):
            data += part
        return data

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        return self.read(len(data))

    def ending(self) -> tuple[bytes, Ending]:
        """What comes until the connection ends, and how it ends."""
        data = b""
        try:
            while part := self.socket.recv(65536):
                data += part
        except ConnectionResetError:
            return data, "reset"
        return data, "close"

    def hears_nothing(self) -> bool:
        """Whether nothing has come, not even an end."""
        self.socket.setblocking(False)
        try:
            self.socket.recv(1)
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(10)
        return False

    def close(self) -> None:
        self.socket.close()


class Echo:
    """A service that sends back what it receives, in threads of its own; a test takes its connections in order."""

    def __init__(self, greeting: bytes = b"") -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        self.greeting = greeting
        self.received: SimpleQueue[bytes] = SimpleQueue()
        self.endings: SimpleQueue[Ending] = SimpleQueue()
        self._threads = [threading.Thread(target=self._accept, name="echo", daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return  # closed by the test's end
            self._threads.append(threading.Thread(target=self._serve, args=(raw,), name="echo", daemon=True))
            self._threads[-1].start()

    def _serve(self, raw: socket.socket) -> None:
        with raw:
            try:
                self._answer(raw)
            except OSError:
                self.endings.put("reset")
            else:
                self.endings.put("close")

    def _answer(self, raw: socket.socket) -> None:
        raw.sendall(self.greeting)
        while data := raw.recv(65536):
            self.received.put(data)
            if data == b"reset yourself":
                reset(raw)
            if data in (b"reset yourself", b"close yourself"):
                return
            raw.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), "the proxy left a connection to the upstream open"


@contextmanager
def upstream(greeting: bytes = b"") -> Iterator[Echo]:
    """An echo that every thread of has ended afterwards; enter it before the proxy."""
    service = Echo(greeting)
    try:
        yield service
    finally:
        service.close()


@contextmanager
def running(backend: str, address: tuple[str, int], *script: TcpFault) -> Iterator[BlockingTcpProxy]:
    with start_blocking_portal(backend) as portal:
        proxy = FaultyTcpProxy(address, script)
        with portal.wrap_async_context_manager(proxy):
            yield BlockingTcpProxy(proxy, portal)


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[Peer]:
    peer = Peer(socket.create_connection(address, timeout=10))
    try:
        yield peer
    finally:
        peer.close()


def is_reset(address: tuple[str, int]) -> bool:
    """Whether a new connection is reset at once; the kernel may tell of that in connecting already."""
    try:
        with connected(address) as peer:
            return peer.ending() == (b"", "reset")
    except ConnectionResetError:
        return True


def healthy(proxy: BlockingTcpProxy) -> bool:
    """Whether a new connection works."""
    with connected(proxy.address) as peer:
        return peer.ask(b"fresh") == b"fresh"
