"""The server: accepts, reads, reacts as it was told, and keeps a log."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import fields, replace
from http.client import responses
from typing import Self

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal

from asyncsink_testing.http_server.connection import Connection, ConnectionGoneError
from asyncsink_testing.http_server.reaction import Reaction, ReactionRule
from asyncsink_testing.http_server.request import (
    HttpRequest,
    MalformedRequestError,
    ReceivedRequest,
    RequestHead,
    decode_body,
    read_body,
    read_head,
)
from asyncsink_testing.sockets import TaskOwner, accept


class FaultyHttpServer(TaskOwner):
    """An HTTP/1.1 server on loopback that stores what it is sent and misbehaves by script or by rule.

    An async context manager, under asyncio and trio; one task enters and leaves it, and leaving closes everything at
    once. A script gives one reaction to each request in the order of complete arrival, and what comes after its end
    is answered 200; a rule is asked about every request, and one that raises ends the server with its error. The log
    and the counters may be read from any thread, and after the server is closed. A request that is not HTTP/1.1 is
    answered 400 and stands in :attr:`malformed`.

    :param reactions: a script, or a rule that chooses a reaction by looking at the request
    :param port: 0 for a free one
    :param keep_bodies: False to keep the log small: a rule sees the bodies, :attr:`received` has them empty
    """

    def __init__(
        self,
        reactions: Iterable[Reaction] | ReactionRule = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        keep_bodies: bool = True,
    ) -> None:
        self.received: list[ReceivedRequest] = []
        """Every complete request, in the order of arrival."""
        self.malformed: list[str] = []
        """Why requests were answered 400 without being looked at further."""
        self.connections = 0
        """Connections accepted so far."""
        self.open_connections = 0
        """Connections that neither side has closed."""
        self.in_flight = 0
        """Requests whose head has come and whose answer has not gone yet."""
        self.peak_in_flight = 0
        """The most requests that were in flight at once."""
        self._changed: anyio.Event
        self._released: anyio.Event
        self._script: deque[Reaction] = deque()
        self._rule: ReactionRule | None = None
        if callable(reactions):
            self._rule = reactions
        else:
            self.script(*reactions)
        self._address = (host, port)
        self._keep_bodies = keep_bodies

    @property
    def host(self) -> str:
        return self._address[0]

    @property
    def port(self) -> int:
        """The port that the server listens on; fixed once it is entered."""
        return self._address[1]

    @property
    def url(self) -> str:
        """``http://host:port`` without a path; every path is served."""
        return f"http://{self.host}:{self.port}"

    @property
    def stored(self) -> list[ReceivedRequest]:
        """The requests that were stored, acknowledged or not, in the order of arrival."""
        return [request for request in self.received if request.stored]

    def script(self, *reactions: Reaction) -> None:
        """Add reactions to the end of the script.

        :raises ValueError: the server goes by a rule
        """
        if self._rule is not None:
            raise ValueError("this server goes by a rule; give it either a rule or a script")
        self._script.extend(reactions)

    async def wait_received(self, count: int) -> None:
        """Return when `count` requests have arrived since the server was entered."""
        while len(self.received) < count:
            await self._changed.wait()

    async def wait_idle(self) -> None:
        """Return when no request is in flight."""
        while self.in_flight:
            await self._changed.wait()

    def release(self) -> None:
        """Let every request that is held now be answered; those that are held later wait for the next call."""
        self._released.set()
        self._released = anyio.Event()

    async def __aenter__(self) -> Self:
        listener = socket.create_server(self._address, backlog=1024)
        listener.setblocking(False)
        self._changed, self._released = anyio.Event(), anyio.Event()
        self._address = (self.host, listener.getsockname()[1])
        async with AsyncExitStack() as stack:
            stack.callback(listener.close)
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(self._accept, listener, group)
            self._group, self._stack = group, stack.pop_all()
        return self

    async def _accept(self, listener: socket.socket, group: TaskGroup) -> None:
        while True:
            connection = Connection(await accept(listener), self.connections)
            self.connections += 1
            group.start_soon(self._serve, connection)

    async def _serve(self, connection: Connection) -> None:
        self.open_connections += 1
        with connection:
            try:
                while await self._serve_request(connection):
                    pass
            except MalformedRequestError as error:
                self.malformed.append(str(error))
                await self._answer_malformed(connection, str(error))
            except ConnectionGoneError:
                pass  # the client went away: what it sent completely is in the log
            finally:
                self.open_connections -= 1

    async def _serve_request(self, connection: Connection) -> bool:
        head = await read_head(connection)
        if head is None:
            return False
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            if head.headers.get("expect", "").lower() == "100-continue":
                await connection.send_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            wire_body = await read_body(connection, head)
            reaction = self._receive(connection, head, wire_body)
            return await self._react(connection, reaction, head) and head.keeps_alive
        finally:
            self.in_flight -= 1
            self._tell_waiting()

    def _receive(self, connection: Connection, head: RequestHead, wire_body: bytes) -> Reaction:
        request = HttpRequest(
            number=len(self.received),
            connection=connection.number,
            method=head.method,
            path=head.path,
            headers=head.headers,
            body=decode_body(head, wire_body),
            size_in_bytes=len(wire_body),
        )
        if self._rule is not None:
            reaction = self._rule(request)
        else:
            reaction = self._script.popleft() if self._script else Reaction.OK
        values = {each.name: getattr(request, each.name) for each in fields(HttpRequest)}
        if not self._keep_bodies:
            values["body"] = b""
        self.received.append(ReceivedRequest(**values, reaction=reaction))
        self._tell_waiting()
        return reaction

    def _tell_waiting(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _react(self, connection: Connection, reaction: Reaction, head: RequestHead) -> bool:
        if reaction.later is not None:
            told = await reaction.later()
            reaction = replace(reaction, status=told.status, headers=told.headers, body=told.body)
        if (reaction.held or reaction.delay_s) and not await self._wait(connection, reaction):
            return False
        answer = _encode(reaction, head)[: reaction.answered_bytes]
        await connection.send_all(answer)
        if reaction.ending == "reset":
            connection.reset()
        return reaction.ending == "keep"

    async def _wait(self, connection: Connection, reaction: Reaction) -> bool:
        """Sit out delay and hold; False if the client went away meanwhile."""
        gone = False
        released = self._released
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                nonlocal gone
                await connection.wait_gone()
                gone = True
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await anyio.sleep(reaction.delay_s)
            if reaction.held:
                await released.wait()
            group.cancel_scope.cancel()
        return not gone

    async def _answer_malformed(self, connection: Connection, reason: str) -> None:
        head = RequestHead("", "", "HTTP/1.1", {"connection": "close"})
        try:
            await connection.send_all(_encode(Reaction.refuse(400, reason.encode()), head))
        except ConnectionGoneError:
            return


def _encode(reaction: Reaction, head: RequestHead) -> bytes:
    reason = responses.get(reaction.status, "Unknown")
    headers = {"Content-Length": str(len(reaction.body)), **reaction.headers}
    if not head.keeps_alive:
        headers["Connection"] = "close"
    lines = [f"HTTP/1.1 {reaction.status} {reason}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    body = b"" if head.method == "HEAD" else reaction.body
    return "\r\n".join(lines).encode("latin-1") + body


@contextmanager
def serving(
    reactions: Iterable[Reaction] | ReactionRule = (),
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    keep_bodies: bool = True,
) -> Iterator[FaultyHttpServer]:
    """Run a :class:`FaultyHttpServer` in an event loop and a thread of its own, for callers that have no loop.

    Its log and counters may be read at any time; a rule is called in the server's thread. ``release`` and
    ``wait_received`` belong to the server's loop and may not be called from here.
    """
    with start_blocking_portal() as portal:
        server = FaultyHttpServer(reactions, host=host, port=port, keep_bodies=keep_bodies)
        with portal.wrap_async_context_manager(server):
            yield server
