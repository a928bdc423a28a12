"""Every secret option against every place in which a secret could be seen."""

from __future__ import annotations

import logging
import pickle
import sys
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from asyncsink import ConfigurationError, FatalRequestError, RequestError, RetryPolicy
from asyncsink_http import HttpOptions, HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

from .auth.sending import sending

SECRET = 's3cret "value" /ü'
URL = "https://api.example.com/in?sig=s3cret-query"

# By the option, what it takes to give it.
GIVEN: Mapping[str, Mapping[str, str]] = {
    "header.": {"header.X-Api-Key": SECRET},
    "bearerToken": {"bearerToken": SECRET},
    "password": {"username": "me", "password": SECRET},
    "oauth2.clientSecret": {
        "oauth2.tokenUrl": "https://login.example.com/token?code=s3cret-code",
        "oauth2.clientId": "me",
        "oauth2.clientSecret": SECRET,
    },
    "hmac.secret": {"hmac.secret": SECRET},
    "tls.keyPassword": {"tls.certificateFile": "/missing/client.pem", "tls.keyPassword": SECRET},
    "proxyPassword": {
        "proxy": "http://proxy.example.com:8080",
        "proxyUsername": "me",
        "proxyPassword": "s3cret-proxy",
    },
}


def test_the_table_has_every_secret_option() -> None:
    assert set(GIVEN) == {each.name for each in HttpOptions.describe() if each.secret}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_no_repr_shows_it(given: Mapping[str, str]) -> None:
    sink = HttpSink.from_options({"url": URL, **given})
    assert "s3cret" not in repr(sink) + repr(sink.options) + repr(sink.options.resolved()) + str(sink.config)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_no_error_of_planning_shows_it(given: Mapping[str, str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        # As much as can be wrong beside it.
        HttpSink.from_options({"url": URL, **given, "connectTimeout": "0s"})
    assert "s3cret" not in str(raised.value)
    for name in given:
        with pytest.raises(ConfigurationError) as twice:
            HttpSink.from_options({"url": URL, **given, name.upper(): "s3cret-other", name.lower(): "s3cret-third"})
        if name in GIVEN or name.startswith("header."):
            assert "s3cret" not in str(twice.value)


def echo(request: HttpRequest) -> Reaction:
    """Gives a token, and tells whoever sends rows all that they sent."""
    if request.path.startswith("/token"):
        return Reaction(body=b'{"access_token": "s3cret-access"}')
    said = "; ".join(f"{name}={value}" for name, value in request.headers.items())
    status = 403 if b'"id":1' in request.body else 422
    return Reaction.refuse(status, f"{request.path} {said} {SECRET}".encode())


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 Bearer s3cret-token\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX Token: s3cret-token\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ns3cret-token\r\n",
    ],
    ids=["status", "header", "chunk"],
)
async def test_no_traceback_shows_it_where_an_answer_cannot_be_read(transport: str, answer: bytes) -> None:
    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(answer)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        port = listener.extra(SocketAttribute.local_port)
        async with sending(
            f"http://127.0.0.1:{port}/in?sig=s3cret-query", bearerToken="s3cret-token", transport=transport
        ) as sender:
            with pytest.raises(RequestError, match="the connection broke before the answer of") as raised:
                await sender.send()
        group.cancel_scope.cancel()
    hidden("".join(traceback.format_exception(raised.value)))


WIRED: Mapping[str, Mapping[str, str]] = {
    name: GIVEN[name] for name in ("header.", "bearerToken", "password", "oauth2.clientSecret", "hmac.secret")
}


@asynccontextmanager
async def refused(given: Mapping[str, str], row: int, folder: Path) -> AsyncIterator[FaultyHttpServer]:
    """After a row has been refused by a server that repeats everything."""
    async with FaultyHttpServer(echo) as server:
        options = dict(given)
        if "oauth2.tokenUrl" in options:
            options["oauth2.tokenUrl"] = f"{server.url}/token?code=s3cret-code"
        options |= {"url": f"{server.url}/in?sig=s3cret-query", "responseCharacters": "5000"}
        options |= {"onRejected": "dead_letter", "deadLetter.path": str(folder), "responseCallback": "secrets_seen:see"}
        sink = HttpSink.from_options(options)
        async with HttpSink(
            sink.options, config=replace(sink.config, retry=RetryPolicy(max_attempts=1))
        ).open() as writer:
            await writer.write({"id": row})
        yield server


def text_in(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def hidden(text: str) -> None:
    forms = [SECRET, "s3cret", b64encode(f"me:{SECRET}".encode()).decode()]
    assert [form for form in forms if form in text] == []


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("given", WIRED.values(), ids=WIRED)
async def test_no_log_dead_letter_callback_or_error_shows_it(
    given: Mapping[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanges: list[object] = []
    requests: list[object] = []

    def see(exchange: object) -> None:
        exchanges.append(exchange)
        requests.append(getattr(exchange, "request").headers)  # noqa: B009 - whatever it is called with

    monkeypatch.setitem(sys.modules, "secrets_seen", SimpleNamespace(see=see))
    for name in ("", "asyncsink", "asyncsink_http", "httpx", "httpcore", "h2", "hpack", "aiohttp"):
        caplog.set_level(logging.DEBUG, name)
    async with refused(given, 0, tmp_path) as server:
        letters = text_in(tmp_path)
    assert "422" in letters
    assert "***" in letters
    hidden(letters)
    with pytest.raises(FatalRequestError) as raised:
        async with refused(given, 1, tmp_path / "other"):
            pass
    hidden(str(raised.value) + repr(raised.value) + str(pickle.loads(pickle.dumps(raised.value))))
    assert len(exchanges) == 2
    hidden(repr(exchanges) + repr(requests))
    hidden(caplog.text)
    assert any("s3cret" in repr(request) for request in server.received), "it was sent"
