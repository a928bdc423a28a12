"""A stub of Kinesis in a process of its own: it takes every record, as quickly as Python can, and keeps none.

``python connectors/kinesis/benchmarks/kinesis_stub.py`` prints its port, and lives as long as its standard input. It
looks at no signature. ``GET /rows`` answers how many records it has taken.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.client import HTTPConnection
from pathlib import Path

STREAM, REGION = "bench", "eu-west-1"

_SHARD = "shardId-000000000000"
_ARN = f"arn:aws:kinesis:{REGION}:123456789012:stream/{STREAM}"
_SUMMARY = {
    "StreamDescriptionSummary": {
        "EnhancedMonitoring": [],
        "MaxRecordSizeInKiB": 1024,
        "OpenShardCount": 1,
        "RetentionPeriodHours": 24,
        "StreamARN": _ARN,
        "StreamCreationTimestamp": 1_700_000_000.0,
        "StreamModeDetails": {"StreamMode": "PROVISIONED"},
        "StreamName": STREAM,
        "StreamStatus": "ACTIVE",
    }
}
_NUMBER = "49590338271490256608559692538361571095921575989136588898"
# One a record: payloads are in base64, or hold no such word, and neither do the keys.
_WORD = b"PartitionKey"
_JSON, _CBOR = b"application/x-amz-json-1.1", b"application/x-amz-cbor-1.1"


@cache
def accepted(count: int, is_cbor: bool) -> bytes:
    """The answer to so many records, all of which are stored, with its headers."""
    if is_cbor:
        record = b"\xa2" + _text("SequenceNumber") + _text(_NUMBER) + _text("ShardId") + _text(_SHARD)
        records = b"\x99" + count.to_bytes(2, "big") + record * count
        return _answer(b"\xa2" + _text("FailedRecordCount") + b"\x00" + _text("Records") + records, _CBOR)
    stored = [{"SequenceNumber": _NUMBER, "ShardId": _SHARD}] * count
    return _answer(json.dumps({"FailedRecordCount": 0, "Records": stored}, separators=(",", ":")).encode())


def _text(text: str) -> bytes:
    """A string of CBOR."""
    head = bytes([0x60 + len(text)]) if len(text) < 24 else bytes([0x78, len(text)])
    return head + text.encode()


def _answer(body: bytes, kind: bytes = _JSON) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body)


class Connection(asyncio.Protocol):
    """One connection that is kept; its requests say how long they are."""

    rows = 0

    def __init__(self) -> None:
        self._begun = b""
        self._head = b""
        self._missing = 0
        self._records = 0
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
            if b"100-continue" in head:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._count(data)
        self._missing -= len(data)
        if self._missing <= 0:
            self._transport.write(self._answered(self._head, self._records))
            self._head, self._records, self._end = b"", 0, b""

    def _count(self, data: bytes) -> None:
        """Count the records piece by piece, and what stands across two of them."""
        across = self._end + data[: len(_WORD) - 1]
        self._records += data.count(_WORD) + across.count(_WORD)
        self._end = (across if len(data) < len(_WORD) else data)[1 - len(_WORD) :]

    @staticmethod
    def _answered(head: bytes, count: int) -> bytes:
        if head.startswith(b"GET /rows"):
            return _answer(b"%d" % Connection.rows)
        if b".DescribeStreamSummary" in head:
            return _answer(json.dumps(_SUMMARY).encode())
        Connection.rows += count
        return accepted(count, _CBOR in head)


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


class Stub:
    """The stub, seen from the benchmark."""

    def __init__(self, port: int, pid: int) -> None:
        self.url, self.pid, self._port = f"http://127.0.0.1:{port}", pid, port

    def rows(self) -> int:
        """How many records it has taken so far."""
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
