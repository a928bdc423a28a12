"""hypercorn in process, which misbehaves as a rule says: HTTP/1.1 and HTTP/2, with TLS and without."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections import defaultdict
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import anyio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config

from asyncsink_testing import HttpRequest, Reaction
from asyncsink_testing.http_destination import Lost
from asyncsink_testing.http_server import ReactionRule

_NO_LINGER = struct.pack("ii", 1, 0)  # to close is to reset


class RealServer:
    """Listens while it is entered; reactions come from the rule, in the order of complete arrival.

    hypercorn leaves a stream open whose application ends early, and its client waits. So an answer that is lost or cut
    takes its connection along, and with it the answers to all requests that are open there.

    :param lost: is told of each of these
    :param context: for TLS; None for none
    """

    def __init__(self, rule: ReactionRule, lost: Lost, context: ssl.SSLContext | None = None) -> None:
        self.in_flight = 0
        self._rule = rule
        self._lost = lost
        self._context = context
        self._count = 0
        self._config = Config()
        self._config.keep_alive_timeout = 60.0
        self._port = 0
        self._writers: dict[Any, asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: defaultdict[Any, dict[int, HttpRequest]] = defaultdict(dict)

    @property
    def url(self) -> str:
        return f"{'http' if self._context is None else 'https'}://127.0.0.1:{self._port}"

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context, backlog=1024)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in list(self._writers.values()):
            writer.transport.abort()
        with anyio.CancelScope(shield=True):
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        client = writer.get_extra_info("peername")
        self._writers[client] = writer
        loop = asyncio.get_running_loop()
        try:
            with suppress(OSError):
                context = WorkerContext(None)
                watched: Any = _WatchedReader(reader, context)
                await TCPServer(ASGIWrapper(self._app), loop, self._config, context, {}, watched, writer)
        finally:
            self._writers.pop(client, None)
            self._tasks.discard(task)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.in_flight += 1
        try:
            body = await _body(receive)
            if body is not None:
                await self._answer(self._request(scope, body), tuple(scope["client"]), receive, send)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: HttpRequest, client: Any, receive: Any, send: Any) -> None:
        reaction = self._rule(request)
        self._open[client][request.number] = request
        try:
            if (reaction.held or reaction.delay_s) and not await _waited(reaction, receive):
                return
            if reaction.answered_bytes != 0:
                await _send(reaction, send)
            if reaction.ending != "keep":
                del self._open[client][request.number]
                self._cut(client, reaction.ending == "reset")
        finally:
            self._open[client].pop(request.number, None)

    def _cut(self, client: Any, is_reset: bool) -> None:
        for request in self._open.pop(client, {}).values():
            self._lost(request)
        writer = self._writers.pop(client, None)
        if writer is None:
            return
        if is_reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        writer.transport.abort()

    def _request(self, scope: Any, body: bytes) -> HttpRequest:
        number, self._count = self._count, self._count + 1
        return HttpRequest(
            number=number,
            connection=0,
            method=scope["method"],
            path=scope["raw_path"].decode(),
            headers={name.decode(): value.decode("latin-1") for name, value in scope["headers"]},
            body=body,
            size_in_bytes=len(body),
        )


class _WatchedReader:
    """Ends what hypercorn does for a connection with the connection: else it waits for the end of keep-alive."""

    def __init__(self, reader: asyncio.StreamReader, context: WorkerContext) -> None:
        self._reader = reader
        self._context = context
        self._has_ended = False

    def at_eof(self) -> bool:
        # Not the reader's own: a connection that ends while nobody reads would never be told of below.
        return self._has_ended

    async def read(self, count: int) -> bytes:
        data = b""
        try:
            data = await self._reader.read(count)
        finally:
            if not data:
                self._has_ended = True
                await self._context.terminated.set()
        return data


async def _body(receive: Any) -> bytes | None:
    """The whole body; None if the client has gone away before its end."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


async def _waited(reaction: Reaction, receive: Any) -> bool:
    """Sit out delay or hold; False if the client went away meanwhile."""
    with anyio.move_on_after(None if reaction.held else reaction.delay_s):
        while (await receive())["type"] != "http.disconnect":
            pass
        return False
    return True


async def _send(reaction: Reaction, send: Any) -> None:
    """The answer; one that is to be cut promises a byte more than it brings."""
    is_cut = reaction.answered_bytes is not None
    headers = {"Content-Length": str(len(reaction.body) + is_cut), **reaction.headers}
    encoded = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reaction.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reaction.body, "more_body": is_cut})
