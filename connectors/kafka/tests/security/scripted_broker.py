"""A broker of a few requests, which grants sessions, refuses, and answers metadata when the test says so."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
from aiokafka.protocol.admin import (
    ApiVersionResponse_v0,
    SaslAuthenticateResponse_v1,
    SaslHandShakeResponse_v1,
)
from aiokafka.protocol.metadata import MetadataResponse_v0

_METADATA, _HANDSHAKE, _VERSIONS, _AUTHENTICATE = 3, 17, 18, 36


@dataclass
class ScriptedBroker:
    """What it says, and what it has seen.

    :param session_ms: of each session from now on
    :param refusal: the code by which it answers who authenticates, 0 for none
    :param challenge: what it says to a token; not empty where it refuses it
    :param silent: the connections, by the order in which they were opened, whose metadata requests it never answers
    :param served: how many metadata requests each connection has brought, by the order in which they were opened
    """

    port: int = 0
    session_ms: int = 0
    refusal: int = 0
    challenge: bytes = b""
    mechanisms: tuple[str, ...] = ("PLAIN", "OAUTHBEARER")
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    silent: set[int] = field(default_factory=set)
    served: list[int] = field(default_factory=list)
    open_connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.served)
        self.served.append(0)
        self.open_connections += 1
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                api, _, correlation_id = struct.unpack(">hhi", (await reader.readexactly(size))[:8])
                body = await self._answer(api, number)
                if body is not None:
                    writer.write(struct.pack(">ii", len(body) + 4, correlation_id) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            self.open_connections -= 1
            writer.close()

    async def _answer(self, api: int, number: int) -> bytes | None:
        if api == _VERSIONS:
            known = [(_METADATA, 0, 0), (_HANDSHAKE, 1, 1), (_VERSIONS, 0, 0), (_AUTHENTICATE, 1, 1)]
            return bytes(ApiVersionResponse_v0(0, known).encode())
        if api == _HANDSHAKE:
            code = 0 if "PLAIN" in self.mechanisms else 33
            return bytes(SaslHandShakeResponse_v1(code, list(self.mechanisms)).encode())
        if api == _AUTHENTICATE:
            said = "the broker's words" if self.refusal else None
            return bytes(SaslAuthenticateResponse_v1(self.refusal, said, self.challenge, self.session_ms).encode())
        self.served[number] += 1
        self.asked.set()
        if number in self.silent:
            return None
        await self.answers.wait()
        return bytes(MetadataResponse_v0([(1, "127.0.0.1", self.port)], []).encode())


@asynccontextmanager
async def scripted_broker() -> AsyncIterator[ScriptedBroker]:
    """Such a broker on a free port; it answers at once until ``answers`` is cleared."""
    broker = ScriptedBroker()
    broker.answers.set()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    async with server:
        broker.port = server.sockets[0].getsockname()[1]
        yield broker


async def until(is_so: Callable[[], bool]) -> None:
    """Let the others run until it is so, at most five seconds."""
    with anyio.fail_after(5):
        while not is_so():
            await anyio.lowlevel.checkpoint()
