"""The transports on the wire: how many connections there are, and what becomes of one that failed."""

from __future__ import annotations

import ssl
import sys
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
import anyio
import httpcore
import pytest
import trustme
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSListener

from asyncsink import RequestError
from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.make import transport_of
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import Header
from asyncsink_testing import FaultyHttpServer, Reaction
from asyncsink_testing.conformance.watching import until

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[("asyncio", "httpx"), ("trio", "httpx"), ("asyncio", "aiohttp")], ids="-".join)
def setting(request: pytest.FixtureRequest) -> tuple[str, str]:
    names: tuple[str, str] = request.param
    return names


over_httpx = pytest.mark.parametrize("setting", [("asyncio", "httpx"), ("trio", "httpx")], ids="-".join)


@pytest.fixture
def anyio_backend(setting: tuple[str, str]) -> str:
    return setting[0]


@pytest.fixture(autouse=True)
def carrier(setting: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The transport of every test here."""
    monkeypatch.setitem(Sender.options, "transport", setting[1])
    return setting[1]


class Sender:
    """Sends bodies to the one address of a transport."""

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, url: str, **values: Any) -> None:
        options = HttpOptions(url=url, **self.options, **values).resolved()
        self._url = url
        self.transport = transport_of(options, Redaction(options))

    async def send(self, body: bytes, *headers: Header, method: str = "POST") -> HttpAnswer:
        return await self.transport.send(HttpRequest(method, self._url, headers, body, "test/-/0/0-1", 1, 1))


@asynccontextmanager
async def sending(url: str, **values: Any) -> AsyncIterator[Sender]:
    sender = Sender(url, **values)
    async with sender.transport:
        yield sender


@asynccontextmanager
async def connected(*reactions: Reaction) -> AsyncIterator[tuple[FaultyHttpServer, Sender]]:
    async with FaultyHttpServer(reactions) as server:
        async with sending(f"{server.url}/in") as sender:
            yield server, sender


async def send_at_once(sender: Sender, count: int) -> list[HttpAnswer]:
    answers: list[HttpAnswer] = []

    async def send() -> None:
        answers.append(await sender.send(b"[1]"))

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(send)
    return answers


async def test_requests_one_after_another_share_one_connection() -> None:
    async with connected() as (server, sender):
        for _ in range(5):
            assert (await sender.send(b"[1]")).status == 200
        assert server.connections == 1


async def test_a_connection_is_kept_while_there_is_nothing_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = time.monotonic
    async with connected() as (server, sender):
        await sender.send(b"[1]")
        # As between micro-batches that a stream has once a minute.
        monkeypatch.setattr(time, "monotonic", lambda: clock() + 60)
        await sender.send(b"[1]")
        assert server.connections == 1


async def test_a_blank_in_the_address_of_a_redirect_is_escaped() -> None:
    async with FaultyHttpServer() as server, sending(f"{server.url}/in") as sender:
        request = HttpRequest("POST", f"{server.url}/in%2f a", (), b"[1]", "test/-/0/0-1", 1, 1)
        assert (await sender.transport.send(request)).status == 200
        assert [request.path for request in server.received] == ["/in%2f%20a"]


async def test_of_an_address_only_what_is_not_ascii_is_escaped() -> None:
    async with FaultyHttpServer() as server, sending(f"{server.url}/é%2f%41?ü=%7E") as sender:
        assert (await sender.send(b"[1]")).status == 200
        assert [request.path for request in server.received] == ["/%C3%A9%2f%41?%C3%BC=%7E"]


async def test_there_are_as_many_connections_as_requests_in_flight() -> None:
    async with connected(*[Reaction.hang(stored=True)] * 8) as (server, sender):
        async with anyio.create_task_group() as group:
            group.start_soon(send_at_once, sender, 8)
            await server.wait_received(8)
            assert (server.in_flight, server.connections) == (8, 8)
            server.release()
        await send_at_once(sender, 8)
        await send_at_once(sender, 3)
        assert (server.connections, server.peak_in_flight) == (8, 8)


@over_httpx
async def test_the_connection_used_last_is_used_first() -> None:
    async with connected(Reaction.hang(), Reaction.hang()) as (server, sender):
        async with anyio.create_task_group() as group:
            group.start_soon(send_at_once, sender, 2)
            await server.wait_received(2)
            server.release()
        for _ in range(4):
            await sender.send(b"[1]")
        assert len({request.connection for request in server.received[2:]}) == 1


async def test_leaving_closes_every_connection() -> None:
    async with FaultyHttpServer() as server:
        async with sending(server.url) as sender:
            await send_at_once(sender, 3)
            assert server.open_connections > 0
        await server.wait_idle()


@pytest.mark.parametrize(
    "reaction",
    [
        Reaction.drop_before_storing("reset"),
        Reaction.drop_before_storing("close"),
        Reaction.drop_after_storing("reset"),
        Reaction.drop_after_storing("close"),
        Reaction.partial_answer(10),
        Reaction.partial_answer(45, "close"),
    ],
)
async def test_a_broken_connection_is_an_error_and_is_replaced(reaction: Reaction) -> None:
    async with connected(Reaction.OK, reaction) as (server, sender):
        await sender.send(b"[1]")
        with pytest.raises(RequestError) as raised:
            await sender.send(b"[2]")
        assert raised.value.code == "CONNECTION_LOST"
        assert f"before the answer of host '127.0.0.1', port {server.port}" in raised.value.message
        assert (await sender.send(b"[3]")).status == 200
        assert [request.body for request in server.received] == [b"[1]", b"[2]", b"[3]"], "nothing is sent again"
        assert server.connections == 2


@pytest.mark.parametrize("setting", [("asyncio", "aiohttp")])
@pytest.mark.parametrize("size", [100, 3_000_000])
async def test_a_put_that_aiohttp_sends_again_is_whole(size: int) -> None:
    async with connected(Reaction.OK, Reaction.drop_before_storing("close")) as (server, sender):
        await sender.send(b"x", method="PUT")
        assert (await sender.send(b"x" * size, method="PUT")).status == 200
        assert [len(request.body) for request in server.received] == [1, size, size]


@over_httpx
async def test_a_connection_that_the_server_closed_is_opened_again() -> None:
    async with connected(Reaction.close_after_answer()) as (server, sender):
        await sender.send(b"[1]")
        await server.wait_idle()
        assert (await sender.send(b"[2]")).status == 200
        assert server.connections == 2


@over_httpx
@pytest.mark.parametrize("behind", [b"said", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], ids=["body", "answer"])
async def test_what_comes_behind_an_answer_is_not_taken_for_the_next_one(behind: bytes) -> None:
    connections: list[SocketStream] = []
    first = b"HTTP/1.1 204 No Content\r\n\r\n" + behind
    second = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

    async def serve(stream: SocketStream) -> None:
        connections.append(stream)
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    while not (await stream.receive()).endswith(b"]"):
                        pass
                    # In one piece, so that it is there when the next request begins.
                    await stream.send(first if len(connections) == 1 else second)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        async with sending(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}") as sender:
            assert (await sender.send(b"[1]")).status == 204
            assert (await sender.send(b"[2]")).status == 503
        group.cancel_scope.cancel()


async def test_a_cancelled_request_gives_up_its_connection() -> None:
    async with connected(Reaction.hang()) as (server, sender):
        async with anyio.create_task_group() as group:
            group.start_soon(send_at_once, sender, 1)
            await server.wait_received(1)
            group.cancel_scope.cancel()
        await server.wait_idle()
        assert (await sender.send(b"[2]")).status == 200
        assert server.connections == 2


@pytest.mark.parametrize("setting", [("asyncio", "httpx"), ("asyncio", "aiohttp")])  # asyncio has once left some open
@pytest.mark.parametrize("moment", range(16))
async def test_a_request_cancelled_while_it_connects_leaves_no_connection_open(moment: int) -> None:
    async with FaultyHttpServer() as server:
        async with sending(server.url) as sender, anyio.create_task_group() as group:
            group.start_soon(send_at_once, sender, 1)
            for _ in range(moment):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert await until(lambda: not server.open_connections, within_s=5)


async def test_the_beginning_of_an_endless_answer_is_read() -> None:
    async with connected(Reaction(body=b"x" * 3_000_000)) as (_, sender):
        answer = await sender.send(b"[1]")
        assert len(answer.body) == 65536
        assert answer.is_cut
        assert (await sender.send(b"[2]")).body == b""


async def test_redirects_are_not_followed_and_cookies_are_not_kept() -> None:
    moved = Reaction.refuse(307, headers={"Location": "/there", "Set-Cookie": "a=b"})
    async with connected(moved) as (server, sender):
        assert (await sender.send(b"[1]")).status == 307
        await sender.send(b"[2]")
        assert [request.path for request in server.received] == ["/in", "/in"]
        assert "cookie" not in server.received[1].headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_the_method_is_used(method: str) -> None:
    async with connected() as (server, sender):
        await sender.send(b"[1]", method=method)
        assert server.received[0].method == method


async def test_an_unreachable_host_is_named() -> None:
    async with FaultyHttpServer() as server:
        port = server.port
    async with sending(f"http://127.0.0.1:{port}/in?sig=s3cret") as sender:
        with pytest.raises(RequestError) as raised:
            await sender.send(b"[1]")
    assert raised.value.code == "CONNECT"
    assert f"no connection to host '127.0.0.1', port {port}: " in str(raised.value)
    assert "s3cret" not in str(raised.value)
    assert isinstance(raised.value.__cause__, (httpcore.ConnectError, aiohttp.ClientConnectorError))


async def test_an_answer_that_is_none_is_told_without_what_the_address_holds() -> None:
    secret = "".join(["s3", "cret"])  # not as it stands: a traceback quotes this line

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"no HTTP\r\n\r\n")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with sending(f"http://127.0.0.1:{port}/in?sig={secret}") as sender:
            with pytest.raises(RequestError) as raised:
                await sender.send(b"[1]")
            # An address of a row, which no redaction knows.
            request = HttpRequest("POST", f"http://127.0.0.1:{port}/in?row={secret[::-1]}", (), b"[1]", "id", 1, 1)
            with pytest.raises(RequestError) as of_row:
                await sender.transport.send(request)
        group.cancel_scope.cancel()
    assert raised.value.code == of_row.value.code == "CONNECTION_LOST"
    assert secret not in "".join(traceback.format_exception(raised.value))
    assert secret[::-1] not in "".join(traceback.format_exception(of_row.value))


@asynccontextmanager
async def tls_server(authority: trustme.CA) -> AsyncIterator[int]:
    """Listens for TLS with a certificate of `authority`, and answers 200 to the first bytes of each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    listener = TLSListener(await anyio.create_tcp_listener(local_host="127.0.0.1"), context, standard_compatible=False)

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield listener.listener.extra(anyio.abc.SocketAttribute.local_port)
        group.cancel_scope.cancel()
    await listener.aclose()


async def test_a_certificate_that_nobody_trusts_is_an_error_of_its_own() -> None:
    async with tls_server(trustme.CA()) as port:
        async with sending(f"https://localhost:{port}/in") as sender:
            with pytest.raises(RequestError) as raised:
                await sender.send(b"[1]")
    assert raised.value.code == "CERTIFICATE"
    assert f"the certificate is not trusted of host 'localhost', port {port}" in raised.value.message


async def test_an_authority_in_the_environment_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with tls_server(authority) as port:
        async with sending(f"https://localhost:{port}/in") as sender:
            assert (await sender.send(b"[1]")).status == 200


async def test_what_the_client_refuses_to_send_is_an_error_without_the_headers_value() -> None:
    secret = "".join(["s3", "cret"])  # not as it stands: a traceback quotes this line
    async with connected() as (server, sender):
        with pytest.raises(RequestError) as raised:
            await sender.send(b"[1]", (b"X-Key", f"{secret}\n".encode()))
        assert server.received == []
    assert raised.value.code == "INVALID_REQUEST"
    assert "no request can be sent to host '127.0.0.1'" in str(raised.value)
    assert secret not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("proxy", ["socks5://me:s3cret@host:1", "gopher://me:s3cret@host:1", "http://host:s3cret"])
async def test_a_proxy_that_the_client_cannot_use_is_an_error_of_its_own(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", proxy)
    async with sending("http://api.example.com/in") as sender:
        with pytest.raises(RequestError) as raised:
            await sender.send(b"[1]")
    assert raised.value.code == "PROXY"
    assert "names a proxy that cannot be used for host 'api.example.com', port 80" in str(raised.value)
    assert "s3cret" not in "".join(traceback.format_exception(raised.value))
