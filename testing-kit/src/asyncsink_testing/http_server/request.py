"""One HTTP/1.1 request: how it is read from a connection, and how it is kept."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import error as ZlibError  # noqa: N812 - an exception class under a lower-case name

from asyncsink_testing.http_server.connection import Connection

if TYPE_CHECKING:
    from asyncsink_testing.http_server.reaction import Reaction

MAX_HEAD_BYTES = 64 * 1024


class MalformedRequestError(Exception):
    """What a client sent is not an HTTP/1.1 request that this server can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request as it arrived.

    :param number: its position among all requests of the server, from 0, in the order of complete arrival
    :param connection: the number of its connection, from 0, in the order of acceptance
    :param path: the request target, query included
    :param headers: names in lower case; the values of a repeated header are joined by ``", "``
    :param body: without transfer encoding and, where it was gzip, without content encoding
    :param size_in_bytes: the bytes of the body on the wire, still compressed
    """

    number: int
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    size_in_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest(HttpRequest):
    """A request and what the server did with it."""

    reaction: Reaction

    @property
    def stored(self) -> bool:
        """Whether the server stored it; its answer may have been lost all the same."""
        return self.reaction.stored


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Request line and headers."""

    method: str
    path: str
    version: str
    headers: Mapping[str, str]

    @property
    def keeps_alive(self) -> bool:
        connection = self.headers.get("connection", "").lower()
        return connection != "close" if self.version == "HTTP/1.1" else connection == "keep-alive"


async def read_head(connection: Connection) -> RequestHead | None:
    """The next request's head; None if the client closed the connection before it.

    :raises MalformedRequestError: it is no HTTP/1 request
    """
    raw = await connection.read_until(b"\r\n\r\n", MAX_HEAD_BYTES)
    if raw is None:
        return None
    request_line, *lines = raw[:-4].decode("latin-1").split("\r\n")
    method, _, target = request_line.partition(" ")
    path, _, version = target.partition(" ")
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        raise MalformedRequestError(f"{request_line[:80]!r} is no HTTP/1.1 request line")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise MalformedRequestError(f"{line[:80]!r} is no header line")
        key, text = name.lower(), value.strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return RequestHead(method, path, version, headers)


async def read_body(connection: Connection, head: RequestHead) -> bytes:
    """The body as it is on the wire, without transfer encoding.

    :raises MalformedRequestError: its length cannot be told
    """
    if "transfer-encoding" in head.headers:
        return await _read_chunks(connection)
    length = head.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise MalformedRequestError(f"Content-Length {length!r} is no number")
    return await connection.read_exactly(int(length))


async def _read_chunks(connection: Connection) -> bytes:
    chunks: list[bytes] = []
    while True:
        line = await connection.read_until(b"\r\n", MAX_HEAD_BYTES) or b""
        try:
            size = int(line.partition(b";")[0].strip(), 16)
        except ValueError:
            raise MalformedRequestError(f"{line[:80]!r} is no chunk size") from None
        chunks.append(await connection.read_exactly(size))
        if size:
            await connection.read_exactly(2)
            continue
        while await connection.read_until(b"\r\n", MAX_HEAD_BYTES) not in (b"\r\n", None):
            pass  # trailers are read and not kept
        return b"".join(chunks)


def decode_body(head: RequestHead, body: bytes) -> bytes:
    """The body without content encoding; gzip is the one that is known.

    :raises MalformedRequestError: another encoding, or damaged gzip
    """
    encoding = head.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise MalformedRequestError(f"Content-Encoding {encoding!r} is not known; send gzip or identity")
    try:
        return gzip.decompress(body)
    except (EOFError, OSError, ZlibError) as error:
        raise MalformedRequestError(f"the body is no gzip: {error}") from error
