"""HTTP/2 on the wire, against hypercorn: connections that are shared, break, and are refused."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import trustme

from asyncsink import RequestError
from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.httpcore_transport import HttpcoreTransport
from asyncsink_http.redaction import Redaction
from asyncsink_testing import FaultyHttpServer, Reaction
from asyncsink_testing.conformance.watching import until

from .real_server import RealServer

pytestmark = pytest.mark.anyio


class Sender:
    def __init__(self, server: RealServer, **values: str) -> None:
        options = HttpOptions.from_options({"url": f"{server.url}/in", "httpVersion": "2", **values}).resolved()
        self._url = options.url
        self.transport = HttpcoreTransport(options, Redaction(options))

    async def send(self, body: bytes = b"[1]") -> HttpAnswer:
        return await self.transport.send(HttpRequest("POST", self._url, (), body, "test/-/0/0-1", 1, 1))


@asynccontextmanager
async def connected(reactions: Iterable[Reaction] = ()) -> AsyncIterator[tuple[RealServer, Sender]]:
    script = iter(reactions)
    async with RealServer(lambda request: next(script, Reaction.OK), lambda request: None) as server:
        sender = Sender(server)
        async with sender.transport:
            yield server, sender


async def test_sixteen_requests_share_a_connection() -> None:
    answers: list[HttpAnswer] = []
    async with connected() as (server, sender):

        async def send() -> None:
            answers.append(await sender.send())

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(send)
        assert [(each.status, each.http_version) for each in answers] == [(200, "HTTP/2")] * 40
        assert (sender.transport.connections, server.open_connections) == (3, 3)
        await sender.send()
        assert sender.transport.connections == 3


async def test_a_body_larger_than_the_window_arrives() -> None:
    async with connected() as (_, sender):
        assert (await sender.send(b"[" + b" " * 300_000 + b"1]")).status == 200


async def test_the_beginning_of_a_long_answer_is_read_and_its_connection_kept() -> None:
    async with connected([Reaction(body=b"x" * 300_000)]) as (_, sender):
        answer = await sender.send()
        assert (len(answer.body), answer.is_cut) == (65536, True)
        assert (await sender.send()).status == 200
        assert sender.transport.connections == 1


@pytest.mark.parametrize("reaction", [Reaction.drop_after_storing(), Reaction.partial_answer()], ids=["lost", "cut"])
async def test_a_broken_connection_is_an_error_and_is_replaced(reaction: Reaction) -> None:
    async with connected([Reaction.OK, reaction]) as (_, sender):
        await sender.send()
        with pytest.raises(RequestError) as raised:
            await sender.send()
        assert raised.value.code == "CONNECTION_LOST"
        assert sender.transport.connections == 0
        assert (await sender.send()).status == 200


async def test_a_cancelled_request_takes_none_along() -> None:
    async with connected([Reaction.hang(), Reaction.OK.after(0.05)]) as (server, sender):
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def hang() -> None:
                with scope:
                    await sender.send()

            group.start_soon(hang)
            assert await until(lambda: server.in_flight == 1, within_s=5)

            async def send() -> None:
                assert (await sender.send()).status == 200

            group.start_soon(send)
            assert await until(lambda: server.in_flight == 2, within_s=5)
            scope.cancel()
        # No other request begins beside a stream that the server may hold for ever.
        assert sender.transport.connections == 0


async def test_a_server_of_http_1_alone_is_told_so_before_any_row_is_sent(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    context.set_alpn_protocols(["http/1.1"])
    seen: list[object] = []

    def rule(request: object) -> Reaction:
        seen.append(request)
        return Reaction.OK

    async with RealServer(rule, lambda request: None, context) as server:
        sender = Sender(server, **{"tls.caFile": str(tmp_path / "ca.pem")})
        async with sender.transport:
            with pytest.raises(RequestError) as raised:
                await sender.send()
    assert raised.value.code == "HTTP_VERSION"
    assert "HTTP/2 is not spoken by host '127.0.0.1'" in str(raised.value)
    assert seen == []


async def test_at_an_address_without_tls_a_lost_connection_tells_of_servers_of_http_1() -> None:
    async with FaultyHttpServer() as server:
        options = HttpOptions(url=server.url, http_version="2").resolved()
        async with HttpcoreTransport(options, Redaction(options)) as transport:
            with pytest.raises(RequestError, match="one that does not ends connections so") as raised:
                await transport.send(HttpRequest("POST", server.url, (), b"[1]", "test/-/0/0-1", 1, 1))
    assert raised.value.code == "CONNECTION_LOST"
    assert server.stored == []
