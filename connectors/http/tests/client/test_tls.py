"""TLS on the wire: whom the client trusts, what it shows of itself, and files that do not hold what they should."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import trustme
from anyio.streams.tls import TLSAttribute, TLSListener
from cryptography.hazmat.primitives import serialization

from asyncsink import ConfigurationError, RequestError
from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.client.client import HttpClient
from asyncsink_http.client.failures import request_error
from asyncsink_http.client.tls import ssl_context
from asyncsink_http.redaction import Redaction

PASSWORD = "s3cret-key-password"


@dataclass(frozen=True, slots=True)
class Certificates:
    """An authority and another one, and the client's certificate, in PEM files of one folder."""

    authority: trustme.CA
    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(trustme.CA(), tmp_path_factory.mktemp("tls"))
    made.authority.cert_pem.write_to_path(made.path("authority.pem"))
    trustme.CA().cert_pem.write_to_path(made.path("another.pem"))
    client = made.authority.issue_cert("client@example.com")
    client.cert_chain_pems[0].write_to_path(made.path("client.pem"))
    client.private_key_pem.write_to_path(made.path("client-key.pem"))
    client.private_key_and_cert_chain_pem.write_to_path(made.path("both.pem"))
    made.authority.issue_cert("x@example.com").private_key_pem.write_to_path(made.path("another-key.pem"))
    key = serialization.load_pem_private_key(client.private_key_pem.bytes(), password=None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(PASSWORD.encode()),
    )
    Path(made.path("encrypted-key.pem")).write_bytes(encrypted)
    Path(made.path("nothing.pem")).write_text("no PEM")
    return made


class Server:
    """Listens for TLS and answers 200 to the first bytes of each connection."""

    def __init__(self, port: int) -> None:
        self.url = f"https://localhost:{port}/in"
        self.shown: list[str] = []
        """Whom the certificates name that clients have shown."""

    async def serve(self, stream: Any) -> None:
        async with stream:
            shown = stream.extra(TLSAttribute.peer_certificate) or {}
            self.shown.extend(name for kind, name in shown.get("subjectAltName", ()) if kind == "email")
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def server_context(certificates: Certificates, trusts: trustme.CA | None) -> ssl.SSLContext:
    """That of a server that asks for a certificate of `trusts`, if there is one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert("localhost").configure_cert(context)
    if trusts is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        trusts.configure_trust(context)
    return context


@asynccontextmanager
async def tls_server(certificates: Certificates, *, trusts: trustme.CA | None = None) -> AsyncIterator[Server]:
    context = server_context(certificates, trusts)
    listener = TLSListener(await anyio.create_tcp_listener(local_host="127.0.0.1"), context, standard_compatible=False)
    server = Server(listener.listener.extra(anyio.abc.SocketAttribute.local_port))
    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.serve)
        yield server
        group.cancel_scope.cancel()
    await listener.aclose()


async def answer_of(url: str, **options: str) -> HttpAnswer:
    named = {f"tls.{name}": value for name, value in options.items()}
    read = HttpOptions.from_options({"url": url, **named}).resolved()
    async with HttpClient(read) as client:
        return await client.send(HttpRequest("POST", url, (), b"[1]", "q/0/0/1", 1, 1))


@pytest.mark.anyio
async def test_an_authority_by_option_is_trusted(certificates: Certificates) -> None:
    async with tls_server(certificates) as server:
        assert (await answer_of(server.url, caFile=certificates.path("authority.pem"))).status == 200


@pytest.mark.anyio
async def test_several_authorities_are_trusted(certificates: Certificates) -> None:
    files = f"{certificates.path('another.pem')}, {certificates.path('authority.pem')}"
    async with tls_server(certificates) as server:
        assert (await answer_of(server.url, caFile=files)).status == 200


@pytest.mark.anyio
async def test_an_authority_by_option_takes_the_place_of_all_others(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificates.path("authority.pem"))
    async with tls_server(certificates) as server:
        with pytest.raises(RequestError) as raised:
            await answer_of(server.url, caFile=certificates.path("another.pem"))
    assert raised.value.code == "CERTIFICATE"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "options",
    [
        {"certificateFile": "both.pem"},
        {"certificateFile": "client.pem", "keyFile": "client-key.pem"},
        {"certificateFile": "client.pem", "keyFile": "encrypted-key.pem", "keyPassword": PASSWORD},
    ],
)
async def test_a_server_that_asks_for_a_certificate_is_shown_one(
    options: dict[str, str], certificates: Certificates
) -> None:
    files = {name: value if name == "keyPassword" else certificates.path(value) for name, value in options.items()}
    async with tls_server(certificates, trusts=certificates.authority) as server:
        assert (await answer_of(server.url, caFile=certificates.path("authority.pem"), **files)).status == 200
    assert server.shown == ["client@example.com"]


@pytest.mark.anyio
async def test_a_certificate_that_the_server_does_not_trust_is_an_error_of_its_own(certificates: Certificates) -> None:
    files = {"caFile": certificates.path("authority.pem"), "certificateFile": certificates.path("both.pem")}
    context = server_context(certificates, trustme.CA())
    # By TLS 1.2 a server tells before the handshake is over; by 1.3 with the answer, if the request is read before.
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def refuse_one() -> None:
        # anyio's server would close the connection without the alert.
        connection, _ = listener.accept()
        with connection, pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(connection, server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, refuse_one)
            with pytest.raises(RequestError) as raised:
                await answer_of(f"https://localhost:{listener.getsockname()[1]}", **files)
    assert raised.value.code == "CLIENT_CERTIFICATE"
    assert "this client's certificate is refused by host 'localhost', port " in raised.value.message


@pytest.mark.parametrize("alert", ["TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_CERTIFICATE_EXPIRED"])
def test_an_alert_that_comes_instead_of_an_answer_is_told_from_a_broken_connection(alert: str) -> None:
    error = ssl.SSLError(1, f"[SSL: {alert}] tls alert")
    error.reason = alert
    lost = OSError("read")
    lost.__cause__ = error
    options = HttpOptions(url="https://localhost")
    failure = request_error(lost, "CONNECTION_LOST", options.url, Redaction(options))
    assert failure.code == "CLIENT_CERTIFICATE"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"caFile": "missing.pem"}, "option 'tls.caFile' = '{}/missing.pem' gives no certificates: No such file"),
        ({"caFile": "authority.pem,{}/missing.pem"}, "'{}/missing.pem' gives no certificates: No such file"),
        ({"caFile": "nothing.pem"}, "gives no certificates: there is no certificate in it; it must hold"),
        ({"certificateFile": "client.pem"}, "'tls.certificateFile' = '{}/client.pem' gives no certificate with its"),
        ({"certificateFile": "client.pem", "keyFile": "missing.pem"}, "with 'tls.keyFile' = '{}/missing.pem' gives no"),
        ({"certificateFile": "client.pem", "keyFile": "another-key.pem"}, "the key belongs to another certificate"),
        (
            {"certificateFile": "client.pem", "keyFile": "encrypted-key.pem"},
            "the key is encrypted, and tls.keyPassword is not given",
        ),
        (
            {"certificateFile": "client.pem", "keyFile": "encrypted-key.pem", "keyPassword": "s3cret-wrong"},
            "tls.keyPassword does not open the key",
        ),
    ],
)
def test_files_that_do_not_hold_what_they_should_are_refused_in_words(
    options: dict[str, str], sentence: str, certificates: Certificates
) -> None:
    folder = str(certificates.folder)
    named = {
        f"tls.{name}": value if name == "keyPassword" else f"{folder}/{value.replace('{}', folder)}"
        for name, value in options.items()
    }
    with pytest.raises(ConfigurationError) as raised:
        ssl_context(HttpOptions.from_options({"url": "https://localhost", **named}))
    assert sentence.replace("{}", folder) in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("name", ["missing.pem", "nothing.pem"])
def test_an_authority_of_the_environment_that_cannot_be_read_is_named(
    name: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificates.path(name))
    with pytest.raises(ConfigurationError) as raised:
        ssl_context(HttpOptions(url="https://localhost"))
    sentence = f"the environment variable SSL_CERT_FILE = '{certificates.path(name)}' gives no certificates: "
    assert sentence in str(raised.value)
    assert "tls.caFile" in str(raised.value)
