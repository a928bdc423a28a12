"""A proxy that tunnels by CONNECT, forwards by whole addresses, or speaks SOCKS 5, and notes whom it was asked for."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream


class Proxy:
    """Listens on loopback while it is entered.

    :param answer: the status line of its answer to CONNECT
    """

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK") -> None:
        self.asked: list[str] = []
        """What it was asked for: the request's first line, or the address of SOCKS."""
        self.credentials: list[str] = []
        self._answer = answer

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            listener = await stack.enter_async_context(await anyio.create_tcp_listener(local_host="127.0.0.1"))
            self.port: int = listener.extra(SocketAttribute.local_port)
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(listener.serve, self._serve)
            stack.callback(group.cancel_scope.cancel)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _serve(self, client: ByteStream) -> None:
        async with client:
            try:
                await self._serve_one(client, BufferedByteReceiveStream(client))
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.IncompleteRead):
                pass  # whoever goes away has what it wanted

    async def _serve_one(self, client: ByteStream, reader: BufferedByteReceiveStream) -> None:
        first = await reader.receive_exactly(1)
        if first == b"\x05":
            await self._socks(client, reader)
            return
        head = first + await reader.receive_until(b"\r\n\r\n", 65536)
        line, *headers = head.decode().split("\r\n")
        self.asked.append(line)
        self.credentials += [each.partition(": ")[2] for each in headers if each.lower().startswith("proxy-auth")]
        method, target, _ = line.split(" ")
        if method == "CONNECT":
            await client.send(self._answer + b"\r\n\r\n")
            host, _, port = target.rpartition(":")
            await _pass_on(client, reader, host, int(port), b"")
        else:
            host, _, port = target.split("/")[2].partition(":")
            await _pass_on(client, reader, host, int(port), head + b"\r\n\r\n")

    async def _socks(self, client: ByteStream, reader: BufferedByteReceiveStream) -> None:
        methods = await reader.receive_exactly((await reader.receive_exactly(1))[0])
        if b"\x02" in methods:
            await client.send(b"\x05\x02")
            await reader.receive_exactly(1)
            user = await reader.receive_exactly((await reader.receive_exactly(1))[0])
            password = await reader.receive_exactly((await reader.receive_exactly(1))[0])
            self.credentials.append(f"{user.decode()}:{password.decode()}")
            await client.send(b"\x01\x00")
        else:
            await client.send(b"\x05\x00")
        kind = (await reader.receive_exactly(4))[3]
        length = (await reader.receive_exactly(1))[0] if kind == 3 else 4
        raw = await reader.receive_exactly(length)
        host = raw.decode() if kind == 3 else ".".join(map(str, raw))
        port = int.from_bytes(await reader.receive_exactly(2), "big")
        self.asked.append(f"{host}:{port}")
        await client.send(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await _pass_on(client, reader, host, port, b"")


async def _pass_on(client: ByteStream, reader: BufferedByteReceiveStream, host: str, port: int, first: bytes) -> None:
    async with await anyio.connect_tcp(host, port) as server, anyio.create_task_group() as group:
        if first:
            await server.send(first)

        async def answers() -> None:
            with suppress(anyio.BrokenResourceError):
                async for part in server:
                    await client.send(part)
            group.cancel_scope.cancel()

        group.start_soon(answers)
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await server.send(await reader.receive())
        group.cancel_scope.cancel()
