"""Requests that end before their connection is ready: whatever is open by then is closed."""

from __future__ import annotations

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute

from asyncsink_http import HttpOptions, HttpRequest
from asyncsink_http.client.make import transport_of
from asyncsink_http.redaction import Redaction

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Silent:
    """Accepts connections, and answers nothing; knows when one has begun to speak, and when it has ended."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.ended = anyio.Event()

    async def serve(self, stream: ByteStream) -> None:
        async with stream:
            await stream.receive()
            self.begun.set()
            try:
                while True:
                    await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.ended.set()


@pytest.mark.parametrize(
    "options",
    [
        {"url": "https://127.0.0.1:{port}/in"},
        {"url": "https://127.0.0.1:{port}/in", "httpVersion": "2"},
        {"url": "https://api.example.com/in", "proxy": "http://127.0.0.1:{port}"},
        {"url": "https://api.example.com/in", "proxy": "https://127.0.0.1:{port}"},
        {"url": "http://api.example.com/in", "proxy": "socks5://127.0.0.1:{port}"},
        {"url": "http://api.example.com/in", "proxy": "socks5://127.0.0.1:{port}", "httpVersion": "2"},
    ],
    ids=["tls", "tls-2", "tunnel", "tls-to-proxy", "socks", "socks-2"],
)
async def test_a_request_cancelled_before_its_connection_is_ready_leaves_none_open(options: dict[str, str]) -> None:
    silent = Silent()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as server:
        server.start_soon(listener.serve, silent.serve)
        port = str(listener.extra(SocketAttribute.local_port))
        found = HttpOptions.from_options({name: value.replace("{port}", port) for name, value in options.items()})
        request = HttpRequest("POST", found.url, (), b"[1]", "test/-/0/0-1", 1, 1)
        async with transport_of(found.resolved(), Redaction(found)) as transport:
            async with anyio.create_task_group() as sender:
                sender.start_soon(transport.send, request)
                await silent.begun.wait()
                sender.cancel_scope.cancel()
            with anyio.fail_after(5):
                await silent.ended.wait()
        server.cancel_scope.cancel()
