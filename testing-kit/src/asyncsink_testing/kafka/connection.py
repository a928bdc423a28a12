"""One client's connection through the proxy, and the one to the broker that is made for it."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from asyncsink_testing.kafka.produce import PRODUCE, Outcome, Place, ProduceRequest, answer, answered
from asyncsink_testing.kafka.reaction import Reaction
from asyncsink_testing.kafka.rewriting import Address, rewritten
from asyncsink_testing.kafka.wire import WireError
from asyncsink_testing.tcp_proxy.endpoint import Endpoint, PeerResetError, connect, resolve


class Front(Protocol):
    """What a connection asks of its proxy."""

    def react(self, request: ProduceRequest) -> Reaction: ...

    def moved(self, broker: Address) -> Address: ...

    def began(self) -> None:
        """A Produce request is under way."""
        ...

    def ended(self) -> None:
        """One is no longer."""
        ...


class _Over(Exception):
    """The connection has been ended on purpose."""


class Frames:
    """Frames from an endpoint, without their sizes."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self._buffer = endpoint, bytearray()

    async def next(self) -> bytes | None:
        """The next one; None after the last.

        :raises PeerResetError: the peer reset the connection
        """
        while len(self._buffer) < 4 or len(self._buffer) < 4 + self._size:
            data = await self._endpoint.receive()
            if not data:
                return None
            self._buffer += data
        end = 4 + self._size
        frame = bytes(self._buffer[4:end])
        del self._buffer[:end]
        return frame

    @property
    def _size(self) -> int:
        size: int = struct.unpack_from(">i", self._buffer)[0]
        return size


class Connection:
    """Passes one request after the other, as a broker too takes one after the other of a connection.

    :ivar failure: what a client or a broker sent that is not understood, if that ended it
    """

    def __init__(self, client: Endpoint, broker: Address, front: Front) -> None:
        self.failure: str | None = None
        self._client, self._broker, self._front = client, broker, front
        self._scope = anyio.CancelScope()
        self._answers: MemoryObjectReceiveStream[bytes]

    async def serve(self) -> None:
        """Pass requests and answers until one side ends; the client then is reset, or has gone."""
        with self._client:
            try:
                with self._scope, await connect(await resolve(*self._broker)) as upstream:
                    await self._pass(upstream)
            except (OSError, PeerResetError, _Over):
                pass
            except WireError as error:
                self.failure = str(error)
            self._client.reset()

    async def _pass(self, upstream: Endpoint) -> None:
        send, self._answers = anyio.create_memory_object_stream[bytes](1)
        async with send, self._answers:
            listening = anyio.CancelScope()

            async def listen() -> None:
                with listening:
                    await self._listen(upstream, send)

            error: BaseException | None = None
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                try:
                    await self._requests(upstream)
                except (OSError, PeerResetError, _Over, WireError) as raised:
                    error = raised
                listening.cancel()
            if error is not None:
                raise error

    async def _listen(self, upstream: Endpoint, answers: MemoryObjectSendStream[bytes]) -> None:
        """Take the broker's answers; when it goes, so does the client's connection, at once."""
        frames = Frames(upstream)
        with suppress(PeerResetError):
            while (frame := await frames.next()) is not None:
                await answers.send(frame)
        self._scope.cancel()

    async def _requests(self, upstream: Endpoint) -> None:
        frames = Frames(self._client)
        while (frame := await frames.next()) is not None:
            api, version = struct.unpack_from(">hh", frame)
            if api == PRODUCE:
                await self._produce(frame, upstream)
            else:
                reply = await self._ask(frame, upstream)
                await self._send(self._client, rewritten(api, version, reply, self._front.moved))

    async def _produce(self, frame: bytes, upstream: Endpoint) -> None:
        request, started_s = ProduceRequest.parsed(frame), anyio.current_time()
        reaction = self._front.react(request)
        self._front.began()
        try:
            reply = await self._outcome(request, frame, reaction, upstream)
            if reaction.ending == "hung":
                await self._client.discard()
            if reaction.ending in ("dropped", "hung"):
                raise _Over
            await anyio.sleep_until(started_s + reaction.latency_s)
            if reaction.ending == "cut":
                await self._client.send_all((_size(reply) + reply)[: 4 + len(reply) // 2])
                raise _Over
            if request.acks:
                await self._send(self._client, reply)
        finally:
            self._front.ended()

    async def _outcome(self, request: ProduceRequest, frame: bytes, reaction: Reaction, upstream: Endpoint) -> bytes:
        """Let the broker have what it is to have, and say what the client is told."""
        outcomes: dict[Place, Outcome] = dict(reaction.refused)
        left, throttle_ms = request.without(reaction.refused), 0
        if reaction.forwarded and left.batches:
            forwarded = left.encoded() if reaction.refused else frame
            if not request.acks:
                await self._send(upstream, forwarded)
                reaction.told({place: Outcome(0) for place in left.batches})
                return b""
            reply = await self._ask(forwarded, upstream)
            said, throttle_ms = answered(request, reply)
            reaction.told(said)
            if not reaction.refused and reaction.throttle_ms is None:
                return reply
            outcomes |= said
        return answer(request, outcomes, throttle_ms if reaction.throttle_ms is None else reaction.throttle_ms)

    async def _ask(self, frame: bytes, upstream: Endpoint) -> bytes:
        await self._send(upstream, frame)
        return await self._answers.receive()

    async def _send(self, endpoint: Endpoint, frame: bytes) -> None:
        await endpoint.send_all(_size(frame) + frame)


def _size(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame))
