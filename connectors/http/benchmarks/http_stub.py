"""A stub of an HTTP API in a process of its own: it takes every row, counts it, and keeps none.

``python connectors/http/benchmarks/http_stub.py`` prints its port, and lives as long as its standard input. The path
says after how many milliseconds a request is answered. ``GET /rows`` answers how many rows have come.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

_WORD = b'"carrier":'
"""One a row, whether or not its JSON is written with blanks."""


def _answer(body: bytes = b"{}") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Connection(asyncio.Protocol):
    """One connection that is kept; its requests say how long they are."""

    rows = 0

    def __init__(self) -> None:
        self._begun = b""
        self._head = b""
        self._missing = 0
        self._rows = 0
        self._end = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._head:
            head, end, rest = (self._begun + data).partition(b"\r\n\r\n")
            if not end:
                self._begun = head
                return
            self._begun, self._head, data = b"", head, rest
            self._missing = _length(head)
        self._count(data)
        self._missing -= len(data)
        if self._missing <= 0:
            self._respond(self._head, self._rows)
            self._head, self._rows, self._end = b"", 0, b""

    def _count(self, data: bytes) -> None:
        """Count the rows piece by piece, and what stands across two of them."""
        across = self._end + data[: len(_WORD) - 1]
        self._rows += data.count(_WORD) + across.count(_WORD)
        self._end = (across if len(data) < len(_WORD) else data)[1 - len(_WORD) :]

    def _respond(self, head: bytes, count: int) -> None:
        path = head.split(b" ", 2)[1]
        if path == b"/rows":
            self._transport.write(_answer(b"%d" % Connection.rows))
            return
        Connection.rows += count
        if delay_ms := int(path[1:]):
            asyncio.get_running_loop().call_later(delay_ms / 1000, self._transport.write, _answer())
        else:
            self._transport.write(_answer())


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


class Stub:
    """The stub, seen from the benchmark."""

    def __init__(self, port: int, pid: int) -> None:
        self.pid, self._port = pid, port

    def url(self, delay_ms: int) -> str:
        return f"http://127.0.0.1:{self._port}/{delay_ms}"

    def rows(self) -> int:
        """How many rows have come so far."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", "/rows")
            return int(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def running_stub() -> Iterator[Stub]:
    """One in a process of its own, whose processor time does not count."""
    command = [sys.executable, "-I", str(Path(__file__))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Stub(int(process.stdout.readline()), process.pid)
        finally:
            process.stdin.close()


async def serve() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    loop.add_reader(sys.stdin.fileno(), ended.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve())
