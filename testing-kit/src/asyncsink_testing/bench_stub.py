"""What stubs of services have in common, to which benchmarks send: they take all quickly, and keep none.

A stub is a script that calls :func:`serve`; it prints its port, and lives as long as its standard input. ``GET /rows``
answers how many rows have come.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import ClassVar


def answer(body: bytes, kind: bytes = b"application/json") -> bytes:
    """A whole answer of HTTP/1.1."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body)


class StubConnection(asyncio.Protocol):
    """One connection that is kept; its requests say how long they are.

    :cvar word: stands once in each row of a body, and nowhere else in it
    """

    word: ClassVar[bytes]
    _all_rows: ClassVar[int] = 0

    def __init__(self) -> None:
        self._begun = b""
        self._head = b""
        self._missing = 0
        self._rows = 0
        self._end = b""

    @abstractmethod
    def respond(self, head: bytes, count: int) -> None:
        """Write the answer to a request with so many rows."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._head:
            head, end, rest = (self._begun + data).partition(b"\r\n\r\n")
            if not end:
                self._begun = head
                return
            self._begun, self._head, data = b"", head, rest
            self._missing = _length(head)
            if b"100-continue" in head:
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._count(data)
        self._missing -= len(data)
        if self._missing <= 0:
            self._take(self._head, self._rows)
            self._head, self._rows, self._end = b"", 0, b""

    def _count(self, data: bytes) -> None:
        """Count the rows piece by piece, and what stands across two of them."""
        across = self._end + data[: len(self.word) - 1]
        self._rows += data.count(self.word) + across.count(self.word)
        self._end = (across if len(data) < len(self.word) else data)[1 - len(self.word) :]

    def _take(self, head: bytes, count: int) -> None:
        if head.startswith(b"GET /rows"):
            self.transport.write(answer(b"%d" % StubConnection._all_rows))
            return
        StubConnection._all_rows += count
        self.respond(head, count)


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


async def serve(connection: type[StubConnection]) -> None:
    """Serve until standard input is closed."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    server = await loop.create_server(connection, "127.0.0.1", 0)
    loop.add_reader(sys.stdin.fileno(), ended.set)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await ended.wait()


class Stub:
    """A stub, seen from the benchmark."""

    def __init__(self, port: int, pid: int) -> None:
        self.url, self.pid, self._port = f"http://127.0.0.1:{port}", pid, port

    def rows(self) -> int:
        """How many rows have come so far."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", "/rows")
            return int(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def running_stub(script: Path) -> Iterator[Stub]:
    """The stub of a script in a process of its own, whose processor time does not count."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-I", str(script)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Stub(int(process.stdout.readline()), process.pid)
        finally:
            process.stdin.close()
