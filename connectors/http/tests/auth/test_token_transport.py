"""How the token endpoint is reached where the destination is reached in a way of its own."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from asyncsink import RequestError
from asyncsink_testing import FaultyHttpServer

from .sending import sending
from .token_endpoint import CLIENT, TokenEndpoint, token

pytestmark = pytest.mark.anyio

CREDENTIALS = {"oauth2__clientId": CLIENT[0], "oauth2__clientSecret": CLIENT[1]}


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_endpoint_is_not_looked_for_on_the_destinations_socket(transport: str, tmp_path: Path) -> None:
    received: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            received.append(await stream.receive())
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    listener = await anyio.create_unix_listener(tmp_path / "socket")
    async with FaultyHttpServer(TokenEndpoint()) as endpoint, listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        options = {"unixSocket": str(tmp_path / "socket"), "oauth2__tokenUrl": f"{endpoint.url}/token"}
        async with sending("http://localhost/in", transport=transport, **options, **CREDENTIALS) as sender:
            assert (await sender.send()).status == 200
        assert len(endpoint.received) == 1
        assert b"Bearer " + token(1).encode() in received[0]
        group.cancel_scope.cancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_endpoint_need_not_speak_http_2() -> None:
    endpoint = TokenEndpoint()
    async with FaultyHttpServer(endpoint) as tokens, FaultyHttpServer() as server:
        options = {"httpVersion": "2", "oauth2__tokenUrl": f"{tokens.url}/token"}
        async with sending(server.url, **options, **CREDENTIALS) as sender:
            with pytest.raises(RequestError) as raised:
                await sender.send()
        # It is the destination that does not speak it.
        assert f"port {server.port}" in raised.value.message
        assert endpoint.issued == 1
        assert tokens.malformed == []
