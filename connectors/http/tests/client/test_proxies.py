"""Proxies and Unix sockets: what is asked of them, and for whom."""

from __future__ import annotations

import ssl
from base64 import b64encode
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from anyio.streams.tls import TLSAttribute, TLSListener, TLSStream

from asyncsink import RequestError
from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.make import transport_of
from asyncsink_http.redaction import Redaction
from asyncsink_testing import FaultyHttpServer

from .proxy import Proxy

pytestmark = pytest.mark.anyio
BASIC = "Basic " + b64encode(b"me:s3 cret").decode()
both = pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
ME = {"proxyUsername": "me", "proxyPassword": "s3 cret"}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


async def send(url: str, **options: str) -> HttpAnswer:
    """One request by a transport that lives as long as it."""
    found = HttpOptions.from_options({"url": url, **options}).resolved()
    async with transport_of(found, Redaction(found)) as transport:
        return await transport.send(HttpRequest("POST", url, (), b"[1]", "test/-/0/0-1", 1, 1))


@both
async def test_a_request_without_tls_is_forwarded(transport: str) -> None:
    async with FaultyHttpServer() as server, Proxy() as proxy:
        answer = await send(f"{server.url}/in", transport=transport, proxy=f"http://127.0.0.1:{proxy.port}", **ME)
    assert answer.status == 200
    assert proxy.asked == [f"POST {server.url}/in HTTP/1.1"]
    assert proxy.credentials == [BASIC]
    assert server.received[0].body == b"[1]"


@both
async def test_a_request_with_tls_goes_through_a_tunnel(transport: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    seen: list[bytes] = []

    async def serve(stream: Any) -> None:
        async with stream:
            seen.append(await stream.receive())
            await stream.send(ANSWER)

    listener = TLSListener(await anyio.create_tcp_listener(local_host="127.0.0.1"), context, standard_compatible=False)
    port = listener.listener.extra(anyio.abc.SocketAttribute.local_port)
    async with Proxy() as proxy, listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        given = {"tls.caFile": str(tmp_path / "ca.pem"), "proxy": f"http://127.0.0.1:{proxy.port}", **ME}
        answer = await send(f"https://127.0.0.1:{port}/in", transport=transport, **given)
        group.cancel_scope.cancel()
    assert answer.status == 200
    assert proxy.asked == [f"CONNECT 127.0.0.1:{port} HTTP/1.1"]
    assert proxy.credentials == [BASIC]
    assert b"s3 cret" not in seen[0]
    assert b"roxy-" not in seen[0], "who asks the proxy is none of the server's business"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_with_tls_sees_nothing_that_is_for_the_destination(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, own = trustme.CA(), trustme.CA()
    for name, pem in (
        ("ca.pem", authority.cert_pem),
        ("own.pem", own.cert_pem),
        ("client.pem", own.issue_cert("client@example.com").private_key_and_cert_chain_pem),
    ):
        pem.write_to_path(str(tmp_path / name))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    own.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    certificates: list[object] = []

    async def refuse(stream: TLSStream) -> None:
        async with stream:
            await stream.receive()
            certificates.append(stream.extra(TLSAttribute.peer_certificate, None))
            await stream.send(b"HTTP/1.1 407 no\r\nContent-Length: 0\r\n\r\n")

    listener = TLSListener(await anyio.create_tcp_listener(local_host="127.0.0.1"), context, standard_compatible=False)
    port = listener.listener.extra(anyio.abc.SocketAttribute.local_port)
    files = {"tls.certificateFile": str(tmp_path / "client.pem"), "tls.caFile": str(tmp_path / "own.pem")}
    monkeypatch.setenv(f"{scheme}_proxy", f"https://127.0.0.1:{port}")
    monkeypatch.setenv("no_proxy", "")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, refuse)
        if scheme == "http":  # forwarded, so that the answer is the proxy's own
            assert (await send("http://api.example.com/in", **files)).status == 407
        else:
            with pytest.raises(RequestError, match="PROXY"):
                await send("https://api.example.com/in", **files)
        with pytest.raises(RequestError, match="transport=aiohttp has no TLS of its own for proxies"):
            await send(f"{scheme}://api.example.com/in", transport="aiohttp", **files)
        group.cancel_scope.cancel()
    assert certificates == [None]


async def test_a_socks_proxy_is_asked_with_credentials() -> None:
    async with FaultyHttpServer() as server, Proxy() as proxy:
        answer = await send(f"{server.url}/in", proxy=f"socks5://127.0.0.1:{proxy.port}", **ME)
    assert answer.status == 200
    assert (proxy.asked, proxy.credentials) == ([f"127.0.0.1:{server.port}"], ["me:s3 cret"])


@both
async def test_a_proxy_that_asks_for_other_credentials_is_an_error_of_its_own(transport: str) -> None:
    async with Proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0") as proxy:
        given = {"transport": transport, "proxy": f"http://127.0.0.1:{proxy.port}"}
        with pytest.raises(RequestError) as raised:
            await send("https://api.example.com/in", **given, **ME)
    assert raised.value.code == "PROXY"
    assert "host 'api.example.com', port 443" in str(raised.value)
    assert "s3 cret" not in str(raised.value)


@both
@pytest.mark.parametrize("names", [{"HTTP_PROXY": ""}, {"ALL_PROXY": "http://me:s3%20cret@"}], ids=str)
async def test_the_environment_names_a_proxy(
    transport: str, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultyHttpServer() as server, Proxy() as proxy:
        for name, scheme in names.items():
            monkeypatch.setenv(name.lower(), f"{scheme}127.0.0.1:{proxy.port}")
        await send(f"{server.url}/in", transport=transport)
        assert len(proxy.asked) == 1
        assert proxy.credentials == ([BASIC] if "ALL_PROXY" in names else [])
        await send(f"{server.url}/in", transport=transport, proxy="none")
        assert len(proxy.asked) == 1
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        await send(f"{server.url}/in", transport=transport)
        assert len(proxy.asked) == 1


@both
async def test_a_unix_socket_leads_to_the_destination_alone(transport: str, tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(stream: Any) -> None:
        async with stream:
            seen.append(await stream.receive())
            await stream.send(ANSWER)

    path = tmp_path / "api.sock"
    options = HttpOptions(url="http://api/in", unix_socket=str(path), transport=transport).resolved()  # type: ignore[arg-type]
    async with (
        FaultyHttpServer() as other,
        await anyio.create_unix_listener(path) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, serve)
        async with transport_of(options, Redaction(options)) as client:
            request = HttpRequest("POST", "http://api/in", (), b"[1]", "test/-/0/0-1", 1, 1)
            assert (await client.send(request)).status == 200
            elsewhere = HttpRequest("POST", f"{other.url}/token", (), b"", "test/-/0/0-2", 1, 1)
            assert (await client.send(elsewhere)).status == 200
        group.cancel_scope.cancel()
    assert seen[0].startswith(b"POST /in HTTP/1.1\r\nHost: api\r\n")
    assert [each.path for each in other.received] == ["/token"]
