"""Metadata over HTTP, from a real server that misbehaves as it is told."""

from __future__ import annotations

import json
import logging
import pickle
import ssl
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSListener, TLSStream

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.discovery import discovering
from asyncsink_dynamic_kafka.metadata.http import HttpMetadataService
from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSetSubscriber
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

pytestmark = pytest.mark.anyio

SECRET = "hunter2"


def document(cluster: str = "A", **more: Any) -> bytes:
    fields = {"bootstrapServers": "a:1", "topics": ["orders"]} | more
    return json.dumps({"version": 1, "streams": {"orders": {"clusters": {cluster: fields}}}}).encode()


async def clusters(service: HttpMetadataService) -> set[str]:
    return {name for stream in await service.get_all_streams() for name in stream.cluster_metadata_map}


async def test_the_document_is_asked_for_once_and_then_by_its_etag() -> None:
    def rule(request: HttpRequest) -> Reaction:
        if request.headers.get("if-none-match") == '"1"':
            return Reaction(status=304)
        return Reaction(body=document(active=False), headers={"ETag": '"1"'})

    async with FaultyHttpServer(rule) as server:
        service = pickle.loads(pickle.dumps(HttpMetadataService(f"{server.url}/metadata?env=test")))
        assert await clusters(service) == {"A"}
        assert (await service.describe_streams(["orders", "visits"])).keys() == {"orders"}
        assert not await service.is_cluster_active("A")
        await service.aclose()
        assert await clusters(service) == {"A"}
        await service.aclose()
    assert [request.headers.get("if-none-match") for request in server.received] == [None, '"1"', '"1"']
    assert {(request.method, request.path) for request in server.received} == {("GET", "/metadata?env=test")}
    assert {request.headers["accept-encoding"] for request in server.received} == {"identity"}


async def test_a_document_without_an_etag_is_sent_each_time() -> None:
    async with FaultyHttpServer([Reaction(body=document(name)) for name in "AB"]) as server:
        service = HttpMetadataService(server.url)
        assert [await clusters(service), await clusters(service)] == [{"A"}, {"B"}]
        await service.aclose()


async def test_a_token_is_sent_and_a_file_of_it_is_read_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / "token"
    async with FaultyHttpServer(lambda request: Reaction(body=document())) as server:
        given = pickle.loads(pickle.dumps(HttpMetadataService(server.url, bearer_token=SECRET)))
        await given.get_all_streams()
        renewed = HttpMetadataService(server.url, bearer_token_file=str(file))
        for token in ("one", "two\n"):
            file.write_text(token)
            await renewed.get_all_streams()
        await given.aclose()
        await renewed.aclose()
    assert [each.headers["authorization"] for each in server.received] == [
        f"Bearer {SECRET}",
        "Bearer one",
        "Bearer two",
    ]
    assert SECRET not in repr(given)


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"two words"])
async def test_a_token_file_without_a_token_is_an_outage(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    service = HttpMetadataService("http://127.0.0.1:1", bearer_token_file=str(file))
    with pytest.raises(MetadataUnavailableError, match="token' has no bearer token that can be read"):
        await service.get_all_streams()
    await service.aclose()


@pytest.mark.parametrize(
    ("reaction", "told"),
    [
        (Reaction.refuse(401), "answers HTTP 401; check the bearer token"),
        (Reaction.refuse(503), "answers HTTP 503$"),
        (Reaction(status=304), "answers HTTP 304$"),
        (Reaction.drop_before_storing(), "does not answer: "),
        (Reaction.partial_answer(), "does not answer: "),
    ],
)
async def test_what_is_no_answer_is_an_outage(reaction: Reaction, told: str) -> None:
    async with FaultyHttpServer([reaction]) as server:
        service = HttpMetadataService(f"{server.url}/m?key={SECRET}")
        with pytest.raises(MetadataUnavailableError, match=f"^http://127.0.0.1:{server.port}/m {told}") as caught:
            await service.get_all_streams()
        await service.aclose()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>", "no JSON"),
        (b'{"version": 1}', "no field 'streams'"),
        (document()[:-9], "no JSON"),
        (b" " * ((16 << 20) + 1), "longer than 16777216 bytes"),
    ],
)
async def test_an_answer_of_no_use_is_an_error_of_the_metadata(body: bytes, told: str) -> None:
    async with FaultyHttpServer([Reaction(body=body)]) as server:
        service = HttpMetadataService(server.url)
        with pytest.raises(MetadataError, match=told):
            await service.get_all_streams()
        await service.aclose()


async def test_redirects_are_followed_on_the_same_host() -> None:
    def rule(request: HttpRequest) -> Reaction:
        if request.path == "/new":
            return Reaction(body=document())
        return Reaction.refuse(307, headers={"Location": "/new"})

    async with FaultyHttpServer(rule) as server:
        service = HttpMetadataService(f"{server.url}/old", bearer_token=SECRET)
        assert await clusters(service) == {"A"}
        await service.aclose()
    assert [each.headers["authorization"] for each in server.received] == [f"Bearer {SECRET}"] * 2


@pytest.mark.parametrize(("host", "told"), [("localhost", "redirects to http://localhost"), ("127.0.0.1", "5 times")])
async def test_no_redirect_leads_to_another_host_or_on_for_ever(host: str, told: str) -> None:
    def rule(request: HttpRequest) -> Reaction:
        return Reaction.refuse(302, headers={"Location": f"http://{host}:{server.port}/"})

    async with FaultyHttpServer(rule) as server:
        service = HttpMetadataService(server.url, bearer_token=SECRET)
        with pytest.raises(MetadataUnavailableError, match=told):
            await service.get_all_streams()
        await service.aclose()
    assert len(server.received) == (1 if host == "localhost" else 6)


async def test_a_hanging_server_is_given_up() -> None:
    async with FaultyHttpServer(lambda request: Reaction.hang()) as server:
        service = HttpMetadataService(server.url)
        subscriber = KafkaStreamSetSubscriber(frozenset({"orders"}))
        async with discovering(service, subscriber, timeout_s=0.05) as discovery:
            with pytest.raises(MetadataUnavailableError, match=r"no answer within metadataService\.timeout = 0\.05 s"):
                await discovery.ready()
        await server.wait_idle()


async def test_closing_runs_beside_a_hanging_request() -> None:
    async with FaultyHttpServer(lambda request: Reaction.hang()) as server:
        service = HttpMetadataService(server.url)

        async def hangs() -> None:
            # Some backends end it by an error when its connection closes, others leave that to the caller.
            with suppress(MetadataUnavailableError):
                await service.get_all_streams()

        async with anyio.create_task_group() as group:
            group.start_soon(hangs)
            await server.wait_received(1)
            await service.aclose()
            group.cancel_scope.cancel()
        await server.wait_idle()


async def test_a_server_answers_only_in_time() -> None:
    async with FaultyHttpServer(lambda request: Reaction.hang()) as server:
        service = HttpMetadataService(server.url, timeout_s=0.05)
        with pytest.raises(MetadataUnavailableError, match=r"does not answer: (Read|Connect)Timeout"):
            await service.get_all_streams()
        await service.aclose()


async def answer(stream: TLSStream) -> None:
    """To one request, over TLS."""
    async with stream:
        head = b""
        while b"\r\n\r\n" not in head:
            head += await stream.receive()
        body = document()
        await stream.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


@pytest.fixture
def authority(tmp_path: Path) -> tuple[trustme.CA, str]:
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made, str(tmp_path / "ca.pem")


async def test_certificates_are_verified(authority: tuple[trustme.CA, str]) -> None:
    made, ca_file = authority
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.issue_cert("127.0.0.1").configure_cert(context)
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = plain.extra(SocketAttribute.local_port)

    async def failed(exc: BaseException, stream: SocketStream) -> None:
        await stream.aclose()

    class Listener(TLSListener):
        handle_handshake_error = staticmethod(failed)  # type: ignore[assignment]

    async with Listener(plain, context, standard_compatible=False) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        trusting = HttpMetadataService(f"https://127.0.0.1:{port}", ca_file=ca_file)
        assert await clusters(trusting) == {"A"}
        await trusting.aclose()
        usual = HttpMetadataService(f"https://127.0.0.1:{port}")
        with pytest.raises(MetadataUnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            await usual.get_all_streams()
        await usual.aclose()
        group.cancel_scope.cancel()


async def test_authorities_that_are_not_there_are_an_error_of_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.pem' with authorities to trust cannot be read"):
        await HttpMetadataService("https://127.0.0.1:1", ca_file=str(tmp_path / "none.pem")).get_all_streams()


async def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'asyncsink-dynamic-kafka\[http\]'"):
        await HttpMetadataService("http://127.0.0.1:1").get_all_streams()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: HttpMetadataService("ftp://host/m"), "'ftp://host/m' must be http:// or https://"),
        (lambda: HttpMetadataService("host/m"), "must be http"),
        (lambda: HttpMetadataService("https://[::1"), "'url' cannot be read: its host, or the port after it"),
        (lambda: HttpMetadataService("https://host/m\n"), "'url' has a blank or a line break"),
        (lambda: HttpMetadataService("https://host:99999/m"), "'url' cannot be read: its host, or the port after it"),
        (
            lambda: HttpMetadataService(f"https://me:{SECRET}/more@host/m"),
            "'url' cannot be read: its host, or the port after it",
        ),
        (
            lambda: HttpMetadataService(f"https://me:{SECRET}@host/m?key={SECRET}"),
            "'https://host/m' must be .* no user",
        ),
        (lambda: HttpMetadataService("https://host", bearer_token=f"{SECRET}\n"), "'bearer_token' is no bearer token"),
        (lambda: HttpMetadataService("https://host", bearer_token="a", bearer_token_file="b"), "leave one of them out"),
    ],
)
async def test_arguments_that_break_their_rule_are_refused(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        make()
    assert SECRET not in str(caught.value)


async def test_a_token_without_tls_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        HttpMetadataService("http://localhost/m", bearer_token=SECRET)
        HttpMetadataService("http://host/m")
        HttpMetadataService("https://host/m", bearer_token=SECRET)
        assert not caplog.records
        HttpMetadataService("http://host/m", bearer_token=SECRET)
    assert [record.getMessage() for record in caplog.records] == [
        "the bearer token goes to http://host/m without TLS; use https"
    ]
